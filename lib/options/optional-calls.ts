/** Options of `run` that locked methods pass for calls which do without the lock if others hold it. */
const OPTIONAL = new WeakSet<object>();

/** Marks options of a call whose caller gets no `LockTimeoutError`: the method is skipped, or replaced by a function. */
export function markOptional<Options extends object>(options: Options): Options {
  OPTIONAL.add(options);
  return options;
}

export const isOptional = (options: object): boolean => OPTIONAL.has(options);

/** The methods whose calls pass these options of `run`. */
const METHODS = new WeakMap<object, string>();

/** Notes which decorated method passes options: `Class.method`. */
export function nameMethod<Options extends object>(options: Options, method: string | undefined): Options {
  if (method !== undefined) METHODS.set(options, method);
  return options;
}

/** The method that passes options; `undefined`: they come from a call in code. */
export const callingMethod = (options: object): string | undefined => METHODS.get(options);

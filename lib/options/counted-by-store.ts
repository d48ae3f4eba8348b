/** Options of calls of a semaphore object: `setPermits` may have changed the number of permits that the object was made with. */
const COUNTED_BY_STORE = new WeakSet<object>();

/** Marks options of a call for permits whose number only the store knows. They may ask for more `units` than `permits`. */
export function countedByStore<Options extends object>(options: Options): Options {
  COUNTED_BY_STORE.add(options);
  return options;
}

/** Options of calls of a semaphore object that ask for all free permits. */
const DRAINING = new WeakSet<object>();

/** Marks options of a call that asks for all permits that are free. */
export function draining<Options extends object>(options: Options): Options {
  DRAINING.add(options);
  return options;
}

export const isDraining = (options: object): boolean => DRAINING.has(options);

export const isCountedByStore = (options: object): boolean => COUNTED_BY_STORE.has(options);

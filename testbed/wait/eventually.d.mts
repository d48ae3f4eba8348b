export interface EventuallyOptions {
  /** Milliseconds of running time after which it is a failure. Default 15000. */
  within?: number;
  /** Milliseconds between two looks. Default 5. */
  every?: number;
  /** What is awaited, for the error. */
  what?: string;
}

/**
 * Waits until `look` returns something truthy, and returns it. A `look` that throws, such as a failed expectation, is
 * repeated as well; after `within` its last error is thrown.
 */
export declare function eventually<T>(look: () => T | Promise<T>, options?: EventuallyOptions): Promise<NonNullable<T>>;

/** As `eventually`, for expectations that return nothing: waits until `check` does not throw. */
export declare function eventuallyPasses(check: () => void | Promise<void>, options?: EventuallyOptions): Promise<void>;

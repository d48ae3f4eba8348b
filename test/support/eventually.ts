import { setTimeout as sleep } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Milliseconds after which it is a failure. Default 5000. */
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
export async function eventually<T>(
  look: () => T | Promise<T>,
  { within = 5000, every = 5, what = 'the condition' }: EventuallyOptions = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + within;
  for (;;) {
    let failure: unknown;
    try {
      const value = await look();
      if (value) return value;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) throw failure ?? new Error(`${what} did not come about within ${within} ms`);
    await sleep(every);
  }
}

/** As `eventually`, for expectations that return nothing: waits until `check` does not throw. */
export async function eventuallyPasses(check: () => void | Promise<void>, options?: EventuallyOptions): Promise<void> {
  await eventually(async () => {
    await check();
    return true;
  }, options);
}

// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import { RunningTime } from './running-time.mjs';

/**
 * @typedef {object} EventuallyOptions
 * @property {number} [within] ms of running time after which it is a failure; default 15000
 * @property {number} [every] ms between two looks; default 5
 * @property {string} [what] the awaited condition, for the error
 */

/**
 * Waits until `look` returns something truthy, and returns it. A `look` that throws, such as a failed expectation, is
 * repeated as well; after `within` its last error is thrown.
 * @template T
 * @param {() => T | Promise<T>} look
 * @param {EventuallyOptions} [options]
 * @returns {Promise<Exclude<T, null | undefined | false>>}
 */
export async function eventually(look, { within = 15_000, every = 5, what = 'the condition' } = {}) {
  const time = new RunningTime();
  try {
    for (;;) {
      /** @type {unknown} */
      let failure;
      try {
        const value = await look();
        if (value) return /** @type {any} */ (value);
      } catch (error) {
        failure = error;
      }
      if (time.ran > within) throw failure ?? new Error(`${what} did not come about within ${within} ms`);
      await sleep(every);
    }
  } finally {
    time.stop();
  }
}

/**
 * Checks for `ms` that a condition holds: the time that a fault would need to break it. Fails at the first look at which the
 * condition does not hold.
 * @param {number} ms
 * @param {() => unknown} look
 * @param {Pick<EventuallyOptions, 'every' | 'what'>} [options]
 */
export async function throughout(ms, look, { every = 5, what = 'the condition' } = {}) {
  const since = performance.now();
  for (;;) {
    const held = await look();
    const passed = performance.now() - since;
    if (!held) throw new Error(`${what} did not hold for ${ms} ms: it ended after ${Math.round(passed)} ms`);
    if (passed >= ms) return;
    await sleep(every);
  }
}

/**
 * As `eventually`, for expectations that return nothing: waits until `check` does not throw.
 * @param {() => void | Promise<void>} check
 * @param {EventuallyOptions} [options]
 */
export async function eventuallyPasses(check, options) {
  await eventually(async () => {
    await check();
    return true;
  }, options);
}

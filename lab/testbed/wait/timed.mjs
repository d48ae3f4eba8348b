// @ts-check
import { RunningTime } from './running-time.mjs';

/**
 * How something ended, how many ms it took, and for how many of them the machine let this process run. Never rejects, so
 * that it may be looked at late.
 * @template T
 * @param {Promise<T> | (() => Promise<T>)} work
 * @returns {Promise<{ readonly value?: T, readonly error?: any, readonly took: number, readonly ran: number }>}
 */
export async function timed(work) {
  const time = new RunningTime();
  try {
    const value = await (typeof work === 'function' ? work() : work);
    const { took, ran } = time.stop();
    return { value, took, ran };
  } catch (error) {
    const { took, ran } = time.stop();
    return { error, took, ran };
  }
}

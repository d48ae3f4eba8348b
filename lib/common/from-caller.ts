import { isLockError } from '../errors/index.js';

/**
 * Runs what a file of the application calls while it is loaded. The stack of an error begins where `entry` was called, not
 * deep within the library.
 */
export function fromCaller<Result>(work: () => Result, entry: (...args: never[]) => unknown = fromCaller): Result {
  try {
    return work();
  } catch (error) {
    if (isLockError(error)) Error.captureStackTrace(error, entry);
    // Node prints the line that throws an uncaught error: this short one, and not a long one of a bundle.
    throw error;
  }
}

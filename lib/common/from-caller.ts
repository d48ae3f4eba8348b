import { isLockError } from '../errors/index.js';

/**
 * Runs what a file of the application calls while it is loaded. The stack of an error begins in that file, not within the
 * library; `entry` is the function that the file has called.
 */
export function fromCaller<Result>(entry: (...args: never[]) => unknown, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (isLockError(error)) Error.captureStackTrace(error, entry);
    // Node prints the line that throws an uncaught error: this short one, and not a long one of a bundle.
    throw error;
  }
}

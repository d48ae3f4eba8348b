import { isLockTimeoutError } from '../errors/index.js';

/** `null` if other callers hold the lock. */
export async function nullOnTimeout<T extends object>(acquisition: Promise<T>): Promise<T | null> {
  try {
    return await acquisition;
  } catch (error) {
    if (isLockTimeoutError(error)) return null;
    throw error;
  }
}

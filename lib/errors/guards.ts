import type { LatchLostError } from './latch-lost.error.js';
import type { LockConfigError } from './lock-config.error.js';
import type { LockKeyError } from './lock-key.error.js';
import type { LockLostError } from './lock-lost.error.js';
import type { LockNotHeldError } from './lock-not-held.error.js';
import type { LockStoreError } from './lock-store.error.js';
import type { LockTimeoutError } from './lock-timeout.error.js';
import type { LockError, LockErrorCode } from './lock.error.js';

const CODES: ReadonlySet<unknown> = new Set<LockErrorCode>([
  'LOCK_TIMEOUT',
  'LOCK_LOST',
  'LOCK_NOT_HELD',
  'LOCK_LATCH_LOST',
  'LOCK_STORE',
  'LOCK_KEY',
  'LOCK_CONFIG',
]);

const codeOf = (error: unknown): unknown => (error instanceof Error ? (error as { code?: unknown }).code : undefined);

/** Whether an error comes from this library, from any copy of the package. */
export const isLockError = (error: unknown): error is LockError => CODES.has(codeOf(error));

/** Whether another holder held the key for the whole wait. */
export const isLockTimeoutError = (error: unknown): error is LockTimeoutError => codeOf(error) === 'LOCK_TIMEOUT';

/** Whether the lock ended under its holder. */
export const isLockLostError = (error: unknown): error is LockLostError => codeOf(error) === 'LOCK_LOST';

/** Whether a call found no lock of its context, or no lock to adopt. */
export const isLockNotHeldError = (error: unknown): error is LockNotHeldError => codeOf(error) === 'LOCK_NOT_HELD';

/** Whether a count-down latch ended without opening: it expired, was deleted, or Redis lost it. */
export const isLatchLostError = (error: unknown): error is LatchLostError => codeOf(error) === 'LOCK_LATCH_LOST';

/** Whether Redis failed or did not answer. */
export const isLockStoreError = (error: unknown): error is LockStoreError => codeOf(error) === 'LOCK_STORE';

/** Whether a key or a template cannot be used. */
export const isLockKeyError = (error: unknown): error is LockKeyError => codeOf(error) === 'LOCK_KEY';

/** Whether an option cannot be used. */
export const isLockConfigError = (error: unknown): error is LockConfigError => codeOf(error) === 'LOCK_CONFIG';

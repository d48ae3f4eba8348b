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

/** Whether an error comes from this library, whichever copy of it. */
export const isLockError = (error: unknown): error is LockError => CODES.has(codeOf(error));

/** Others held the key for the whole wait. */
export const isLockTimeoutError = (error: unknown): error is LockTimeoutError => codeOf(error) === 'LOCK_TIMEOUT';

/** The lock ended under its holder. */
export const isLockLostError = (error: unknown): error is LockLostError => codeOf(error) === 'LOCK_LOST';

/** Nothing was held where something was to be unlocked. */
export const isLockNotHeldError = (error: unknown): error is LockNotHeldError => codeOf(error) === 'LOCK_NOT_HELD';

/** A count-down latch is gone that has not opened: it has expired, or Redis has lost it. */
export const isLatchLostError = (error: unknown): error is LatchLostError => codeOf(error) === 'LOCK_LATCH_LOST';

/** Redis failed or did not answer. */
export const isLockStoreError = (error: unknown): error is LockStoreError => codeOf(error) === 'LOCK_STORE';

/** A bad key or template. */
export const isLockKeyError = (error: unknown): error is LockKeyError => codeOf(error) === 'LOCK_KEY';

/** A bad option. */
export const isLockConfigError = (error: unknown): error is LockConfigError => codeOf(error) === 'LOCK_CONFIG';

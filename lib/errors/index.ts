export { LockError, type LockErrorCode, type LockErrorDetails } from './lock.error.js';
export { LockTimeoutError } from './lock-timeout.error.js';
export type { LockHolder } from './lock-holder.js';
export { LockLostError, LOSS_REASONS, type LossReason } from './lock-lost.error.js';
export { LockNotHeldError } from './lock-not-held.error.js';
export { LatchLostError } from './latch-lost.error.js';
export { LockStoreError } from './lock-store.error.js';
export { LockKeyError } from './lock-key.error.js';
export { LockConfigError } from './lock-config.error.js';
export {
  isLatchLostError,
  isLockConfigError,
  isLockError,
  isLockKeyError,
  isLockLostError,
  isLockNotHeldError,
  isLockStoreError,
  isLockTimeoutError,
} from './guards.js';

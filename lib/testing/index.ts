// In reading order: set it up, see what was locked, let time pass.
export {
  getLockTestingToken,
  RedisLockTestingModule,
  type RedisLockTestingOptions,
} from './redis-lock-testing.module.js';
export { LockTesting, type LockTestingOptions, type OverridesProviders } from './lock-testing.js';
export { Acquisitions, type AcquisitionOutcome, type RecordedAcquisition } from './acquisitions.js';
export { ManualClock } from './manual-clock.js';

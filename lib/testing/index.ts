// In reading order: set it up, see what was locked, let time pass.
export {
  getLockTestingToken,
  RedisLockTestingModule,
  type RedisLockTestingOptions,
} from './redis-lock-testing.module.js';
export { LockTesting, type LockTestingOptions, type OverridesProviders } from './lock-testing.js';
export { Acquisitions, type AcquisitionOutcome, type RecordedAcquisition } from './acquisitions.js';
export { ManualClock } from './manual-clock.js';

// For those who write a store: what it has to do, and what they bring for that.
export { lockStoreContract } from './contract/index.js';
export type { ContractCase, LockClientOptions, LockStoreHarness, StoreTruth } from './contract/harness.js';
export { createLockClient, type LockClientParts } from './lock-client.js';

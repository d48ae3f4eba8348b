// In reading order: set up locks, see what was locked, let time pass.
export {
  getLockTestingToken,
  RedisLockTestingModule,
  type RedisLockTestingOptions,
} from './redis-lock-testing.module.js';
export { LockTesting, type LockTestingOptions, type OverridesProviders } from './lock-testing.js';
export { Acquisitions, type AcquisitionOutcome, type RecordedAcquisition } from './acquisitions.js';
export { ManualClock } from './manual-clock.js';

// For authors of stores: the contract, and what it needs.
export { lockStoreContract } from './contract/index.js';
export type { ContractCase, LockClientOptions, LockStoreHarness, StoreTruth } from './contract/harness.js';
export { createLockClient, type LockClientParts } from './lock-client.js';

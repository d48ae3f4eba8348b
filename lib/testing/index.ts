// In reading order: set up locks, see what was locked, let time pass.
export { getLockTestingToken, RedisLockTestingModule } from './redis-lock-testing.module.js';
export { LockTesting, type LockTestingOptions } from './lock-testing.js';
export { Acquisitions, type RecordedAcquisition } from './acquisitions.js';
export { ManualClock } from './manual-clock.js';

// For authors of stores (nestjs-redis-locks/store): the contract, and what it needs.
export { lockStoreContract } from './contract/index.js';
export type { ContractCase, ContractClientOptions, LockStoreHarness, StoreTruth } from './contract/harness.js';

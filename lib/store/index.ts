// For authors of a store, in reading order: make it, keep locks, keep latches, fail.
export type { LockStoreFactory, LockStoreContext } from '../module/redis-lock.store.js';
export type { Clock } from '../common/clock.js';
export type { LockLogger } from '../common/logger.js';

export type {
  AcquireAllReply,
  AcquireReply,
  AcquireRequest,
  ContendedReply,
  ForceReleaseReply,
  HeldReply,
  HoldMode,
  LockStore,
  LockStoreListener,
  OfferReply,
  OfferRequest,
  PushedGrant,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
  ReplicateRequest,
  StoredHold,
  StoredLock,
  StoredWaiter,
  StoreFeature,
  TooManyReply,
} from './lock-store.js';
export type { ListReply, ListRequest } from './lock-store.js';
export type { HoldSurvey, HoldSurveyRequest } from './lock-store.js';
export type { AddPermitsRequest, KeepUnitsRequest, PermitStore } from './permit-store.js';
export { UNCONTENDED_BATCH_SIZE } from './lock-store.js';
export type { CallSite, ClientRecord, ClientRecordStore } from './client-records.js';
export type { CountDownReply, LatchCount, LatchStore, SetCountRequest } from './latch-store.js';

export { createMemoryStore } from './memory/memory-store.js';
export { isLockStoreError, LockConfigError, LockStoreError, type LockErrorDetails } from '../errors/index.js';

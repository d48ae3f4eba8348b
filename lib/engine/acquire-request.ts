import type { AcquireRequest, LockMode } from '../store/lock-store.js';
import type { EngineContext } from './engine-context.js';

/** What one acquisition asks for. */
export interface TicketTerms {
  readonly key: string;
  readonly mode: LockMode;
  readonly owner: string | undefined;
  readonly lease: number;
  readonly waits: boolean;
  /** How many waiters of this client may get the lock under one grant, and how many while no other client waits. */
  readonly batchSize: number;
  readonly uncontendedBatchSize: number;
  readonly fair: boolean;
}

/** Builds the request that asks the store for a lock. */
export function acquireRequest(
  { random, limits: { commandTimeout, grantTimeout } }: EngineContext,
  id: string,
  { key, mode, owner, lease, waits, batchSize, uncontendedBatchSize, fair }: TicketTerms,
): AcquireRequest {
  const period = Math.ceil(Math.min(lease / 3, grantTimeout * (1 + random() / 3)));
  return {
    key,
    id,
    mode,
    owner,
    lease,
    waits,
    period,
    patience: 2 * period + commandTimeout,
    grantTimeout,
    batchSize,
    uncontendedBatchSize,
    fair,
  };
}

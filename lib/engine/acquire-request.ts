import type { CallSite } from '../store/client-records.js';
import { FOLLOWER_PERIOD, type AcquireRequest, type LockMode } from '../store/lock-store.js';
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
  /** Where in the code the first waiter called. */
  readonly site?: CallSite | undefined;
}

/** In how many ms a waiter asks again at the latest, unless it follows others. */
export function retryPeriod({ random, limits: { grantTimeout } }: EngineContext, lease: number): number {
  return Math.ceil(Math.min(lease / 3, grantTimeout * (1 + random() / 3)));
}

/** Builds the request that asks the store for a lock. `follows`: see `TicketLine`. */
export function acquireRequest(
  context: EngineContext,
  id: string,
  { key, mode, owner, lease, waits, batchSize, uncontendedBatchSize, fair }: Omit<TicketTerms, 'site'>,
  follows = false,
): AcquireRequest {
  const { commandTimeout, grantTimeout } = context.limits;
  const shortest = retryPeriod(context, lease);
  const period = follows ? Math.ceil(FOLLOWER_PERIOD * grantTimeout * (1 + context.random() / 3)) : shortest;
  return {
    key,
    id,
    mode,
    owner,
    lease,
    waits,
    period,
    patience: period + shortest + commandTimeout,
    grantTimeout,
    batchSize,
    uncontendedBatchSize,
    fair,
  };
}

import type { CallSite } from '../store/client-records.js';
import { FOLLOWER_PERIOD, type AcquireRequest, type HoldMode } from '../store/lock-store.js';
import type { EngineContext } from './engine-context.js';

/** What one acquisition asks for. */
export interface TicketTerms {
  readonly key: string;
  readonly mode: HoldMode;
  readonly owner: string | undefined;
  readonly lease: number;
  readonly waits: boolean;
  /** How many waiters of this client may get the lock under one grant, and how many while no other client waits. */
  readonly batchSize: number;
  readonly uncontendedBatchSize: number;
  readonly fair: boolean;
  /** See `AcquireRequest.ahead`. */
  readonly ahead?: boolean | undefined;
  /** How many waiters of this client may have permits under one grant at the same time, when the request is sent. */
  readonly slots?: () => number;
  /** When the first waiter called. */
  readonly since?: number;
  /** Where in the code the first waiter called. */
  readonly site?: CallSite | undefined;
}

/** How often a ticket asks. */
export interface Asking {
  /** See `TicketLine`. */
  readonly follows: boolean;
  /** See `TicketPace`. */
  readonly slowness: number;
}

/** In how many ms a waiter asks again at the latest, unless it follows others or the client has very many tickets. */
export function retryPeriod({ random, limits: { grantTimeout } }: EngineContext, lease: number): number {
  return Math.ceil(Math.min(lease / 3, grantTimeout * (1 + random() / 3)));
}

/** Builds the request that asks the store for a lock. */
export function acquireRequest(
  context: EngineContext,
  id: string,
  terms: Omit<TicketTerms, 'site'>,
  { follows, slowness }: Asking = { follows: false, slowness: 1 },
): AcquireRequest {
  const { key, mode, owner, lease, waits, batchSize, uncontendedBatchSize, fair, ahead, slots, since } = terms;
  const { commandTimeout, grantTimeout } = context.limits;
  const shortest = retryPeriod(context, lease);
  const period = follows
    ? Math.ceil(FOLLOWER_PERIOD * grantTimeout * (1 + context.random() / 3))
    : Math.ceil(shortest * slowness);
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
    ahead,
    slots: slots?.(),
    since,
  };
}

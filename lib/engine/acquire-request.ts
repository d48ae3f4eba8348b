import { FOLLOWER_PERIOD, type AcquireRequest } from '../store/lock-store.js';
import type { EngineContext } from './engine-context.js';
import type { HoldTerms } from './hold-terms.js';

/** For which waiters of this client a request asks. */
export interface Places {
  readonly waits: boolean;
  /** How many waiters of this client may get the lock under one grant, and how many while no other client waits. */
  readonly batchSize: number;
  readonly uncontendedBatchSize: number;
  /** How many waiters of this client may have permits under one grant at the same time, when the request is sent. */
  readonly slots?: (() => number) | undefined;
  /** When the first waiter called. */
  readonly since?: number;
}

/** One try of one caller. */
const ONE_TRY: Places = { waits: false, batchSize: 1, uncontendedBatchSize: 1 };

/** How often a ticket asks. */
export interface Asking {
  /** See `TicketLine`. */
  readonly follows: boolean;
  /** See `Tickets`. */
  readonly slowness: number;
}

/** In how many ms a waiter asks again at the latest, unless it follows others or the client has very many tickets. */
export function retryPeriod({ random, limits: { grantTimeout } }: EngineContext, lease: number): number {
  return Math.ceil(Math.min(lease / 3, grantTimeout * (1 + random() / 3)));
}

/** Builds the request that asks the store for a lock. */
export function acquireRequest(
  context: EngineContext,
  key: string,
  id: string,
  { mode, owner, lease, fair, ahead }: HoldTerms,
  { waits, batchSize, uncontendedBatchSize, slots, since }: Places = ONE_TRY,
  { follows, slowness }: Asking = { follows: false, slowness: 1 },
): AcquireRequest {
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

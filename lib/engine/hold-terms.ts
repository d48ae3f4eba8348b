import type { LockLostError } from '../errors/index.js';
import { FOLLOWER_PERIOD, type AcquireRequest, type HoldMode } from '../store/lock-store.js';
import type { LeaseGrant } from './lease-view.js';

/** A grant as the engine uses it. `from` lies before the moment from which the store counts `lease`. */
export interface Grant extends LeaseGrant {
  readonly id: string;
  readonly token: number;
  /** How many local waiters may get the lock under this grant, with the tokens from `token` on. */
  readonly batchSize: number;
  /** Whether another client waits already, as far as is known: no later caller shares the grant. */
  readonly yields?: boolean;
  /** How many permits it has, if the request asked for all that were free. */
  readonly units?: number | undefined;
  /**
   * The store's epoch at the first request. A request from before a reconnect may be executed twice. `undefined`: a
   * request is unanswered, so a reconnect may still come.
   */
  readonly epoch: number | undefined;
}

/** A listener of the user. It may throw or reject. */
export type LossListener = (error: LockLostError) => unknown;

/** What a caller asks for, whatever the key. Calls with the same options share one object. */
export interface HoldTerms {
  readonly mode: HoldMode;
  readonly owner: string | undefined;
  /** The template of the key, for observers. */
  readonly pattern: string | undefined;
  /** The decorated method that asks, `Class.method`. For observers. */
  readonly method?: string | undefined;
  /** Whether the request is served in the order of arrival at all clients, not behind others of its own client. */
  readonly fair: boolean;
  /** Whether the caller needs a hold of its own in the store: it sets an owner or other terms later. */
  readonly alone?: boolean | undefined;
  /** Whether the caller holds other keys of its set, so that it goes ahead of callers that hold none. */
  readonly ahead?: boolean | undefined;
  /** Full lease in ms. */
  readonly lease: number;
  /** Whether the watchdog renews the lease, and how often at most (0: without limit). */
  readonly renews: boolean;
  readonly maxRenewTimes: number;
  /** ms for which the key stays taken at least. */
  readonly holdAtLeast: number;
  /** How many replicas must have the hold before the caller gets it. */
  readonly replicas: ReplicaTerms | undefined;
  /** Whether the caller does without the hold if others hold the key, so that no timeout reaches anyone. For observers. */
  readonly optional?: boolean | undefined;
}

/** A key, and what its caller asks for. */
export interface KeyTerms {
  readonly key: string;
  readonly terms: HoldTerms;
}

export interface ReplicaTerms {
  readonly min: number;
  /** ms */
  readonly timeout: number;
}

/** How many permits a mode takes; 0: it is no semaphore. */
export const unitsOf = (mode: HoldMode): number => (mode.kind === 'permits' ? mode.units : 0);

/** The terms with another number of permits. */
export const withUnits = (terms: HoldTerms, units: number): HoldTerms =>
  terms.mode.kind === 'permits' && terms.mode.units !== units ? { ...terms, mode: { ...terms.mode, units } } : terms;

/**
 * How many callers of this client a grant serves: one after another, any number of readers at a time, or as many callers at a
 * time as its permits suffice for.
 */
export type Capacity = 'one' | 'readers' | 'permits';

/**
 * What a grant for a request may serve. A request with an owner or with `fair: true` has a grant of its own, and so has one for
 * which the store does something at each grant or release.
 */
export function capacityFor(terms: HoldTerms, batchSize: number): Capacity {
  const { mode, owner, fair, alone } = terms;
  if (mode.kind === 'exclusive' || owner !== undefined || fair || alone === true) return 'one';
  if (batchSize === 1 || !mayShareGrant(terms)) return 'one';
  if (mode.kind === 'read') return 'readers';
  return mode.units > 0 ? 'permits' : 'one';
}

/** One grant serves this many callers at a time at most, so that very many of them do not block the event loop. */
export const MOST_SERVED = 1_000;

/** Whether a request may share a grant. The store does `replicas` and `holdAtLeast` at each grant or release. */
export const mayShareGrant = ({ replicas, holdAtLeast }: HoldTerms): boolean =>
  replicas === undefined && holdAtLeast === 0;

/** Whether two requests want the same: to read, or the same number of permits. */
export function wantsTheSame(one: HoldMode, other: HoldMode): boolean {
  if (one.kind !== 'permits' || other.kind !== 'permits') return one.kind === other.kind;
  return one.units === other.units && one.limit === other.limit;
}

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

/** By how many times later a ticket asks than a ticket that is alone (`Tickets`); `seldom`: it follows others (`TicketLine`). */
type Pace = number | 'seldom';

/** What limits a request: the context of the engine. */
interface RequestContext {
  readonly random: () => number;
  readonly limits: { readonly commandTimeout: number; readonly grantTimeout: number };
}

/** In how many ms a waiter asks again at the latest, unless it follows others or the client has very many tickets. */
export function retryPeriod({ random, limits: { grantTimeout } }: RequestContext, lease: number): number {
  return Math.ceil(Math.min(lease / 3, grantTimeout * (1 + random() / 3)));
}

/** Builds the request that asks the store for a lock. */
export function acquireRequest(
  context: RequestContext,
  key: string,
  id: string,
  { mode, owner, lease, fair, ahead }: HoldTerms,
  { waits, batchSize, uncontendedBatchSize, slots, since }: Places = ONE_TRY,
  pace: Pace = 1,
): AcquireRequest {
  const { commandTimeout, grantTimeout } = context.limits;
  const shortest = retryPeriod(context, lease);
  const period = Math.ceil(
    pace === 'seldom' ? FOLLOWER_PERIOD * grantTimeout * (1 + context.random() / 3) : shortest * pace,
  );
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

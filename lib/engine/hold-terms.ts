import type { LockLostError } from '../errors/index.js';
import type { HoldMode } from '../store/lock-store.js';
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
   * The store's epoch at the first question. A question from before a reconnect may be executed twice. `undefined`: a
   * question is unanswered, so a reconnect may still come.
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

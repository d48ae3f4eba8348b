import type { AcquireRequest, LockMode, LockStore } from '../store/lock-store.js';

/** What one acquisition asks for. */
export interface TicketTerms {
  readonly key: string;
  readonly mode: LockMode;
  readonly owner: string | undefined;
  readonly lease: number;
  readonly waits: boolean;
  /** How many of this client are to have it in turn; and while nobody else waits. */
  readonly turns: number;
  readonly turnsAlone: number;
  readonly fair: boolean;
}

/** What decides how often an acquisition asks again, and for how long its place is kept. */
export interface RequestEnvironment {
  readonly store: LockStore;
  readonly random: () => number;
  readonly commandTimeout: number;
  readonly grantTimeout: number;
}

/** What is sent to the store to ask for a lock. */
export function acquireRequest(
  { random, commandTimeout, grantTimeout }: RequestEnvironment,
  id: string,
  { key, mode, owner, lease, waits, turns, turnsAlone, fair }: TicketTerms,
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
    batchSize: turns,
    uncontendedBatchSize: turnsAlone,
    fair,
  };
}

import type { ContendedReply } from '../lock-store.js';
import type { MemberState } from './member-state.js';

/** If no master says when to retry, the waiter retries after this many ms, up to twice as many. */
const RETRY = 50;

interface Terms {
  readonly waits: boolean;
  readonly now: number;
  /** If no acquisition has a majority: in how many ms to retry at the latest. */
  readonly splitFor: number | undefined;
  readonly random: () => number;
}

/** The reply to a request that has no majority, made of the masters' replies. */
export function contendedReply(
  states: readonly MemberState[],
  { waits, now, splitFor, random }: Terms,
): ContendedReply {
  // A master with a pending request is asked already, so its time for a retry does not count.
  const next = Math.min(...states.filter(({ isOpen }) => !isOpen).map(({ retryAt }) => retryAt));
  const retryAfter = Math.min(next - now, splitFor ?? Infinity);
  return {
    outcome: waits ? 'queued' : 'busy',
    time: now,
    retryAfter: Math.max(2, Number.isFinite(retryAfter) ? retryAfter : RETRY * (1 + random())),
    lastToken: Math.max(...states.map(({ lastToken }) => lastToken)),
    isSplit: splitFor !== undefined,
    holders: [...new Set(states.flatMap(({ holders }) => holders))],
  };
}

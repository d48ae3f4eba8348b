import type { ContendedReply } from '../lock-store.js';
import type { MemberState } from './member-state.js';

/** If no master says when to retry, the waiter retries after this many ms, up to twice as many. */
const RETRY = 50;

interface Terms {
  readonly waits: boolean;
  readonly now: number;
  /** The longest delay of the retry, in ms. */
  readonly atMost: number;
  readonly random: () => number;
}

/** The reply to a request that has no majority, made of the masters' replies. */
export function contendedReply(states: readonly MemberState[], { waits, now, atMost, random }: Terms): ContendedReply {
  // A master with a pending request is asked already, so its time for a retry does not count.
  const next = Math.min(...states.filter(({ isOpen }) => !isOpen).map(({ retryAt }) => retryAt));
  const retryAfter = Math.min(next - now, atMost);
  return {
    outcome: waits ? 'queued' : 'busy',
    time: now,
    retryAfter: Math.max(2, Number.isFinite(retryAfter) ? retryAfter : RETRY * (1 + random())),
    lastToken: Math.max(...states.map(({ lastToken }) => lastToken)),
    holders: [...new Set(states.flatMap(({ holders }) => holders))],
  };
}

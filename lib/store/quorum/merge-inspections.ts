import type { StoredHold, StoredLock, StoredWaiter } from '../lock-store.js';
import { nthLargest, type QuorumContext } from './round.js';

/**
 * Merges what the masters know of a key into what a majority knows. An entry is left out if the masters that have it
 * and the silent ones together are no majority.
 */
export function mergeInspections({ members, quorum }: QuorumContext, replies: readonly StoredLock[]): StoredLock {
  const enough = Math.max(1, quorum - (members.length - replies.length));
  const seen = new Map<string, StoredHold[]>();
  for (const hold of replies.flatMap(({ holds }) => holds)) {
    seen.set(hold.id, [...(seen.get(hold.id) ?? []), hold]);
  }
  const holds = [...seen.values()].filter((same) => same.length >= enough).map((same) => mergeHold(same, enough));
  const held = new Set(holds.map(({ id }) => id));
  const limits = replies.flatMap(({ limit }) => limit ?? []);
  return {
    // A master that granted late has issued tokens that no holder got.
    lastToken: Math.max(
      ...(holds.length > 0 ? holds.map(({ token }) => token) : replies.map((each) => each.lastToken)),
    ),
    holds,
    waiters: mergeWaiters(replies).filter(({ id }) => !held.has(id)),
    limit: limits.length >= enough ? nthLargest(enough, limits) : undefined,
  };
}

function mergeHold(same: readonly StoredHold[], enough: number): StoredHold {
  const ofMajority = (field: 'ttl' | 'since'): number =>
    nthLargest(
      enough,
      same.map((hold) => hold[field]),
    )!;
  const token = mostFrequent(same.map((hold) => hold.token));
  return { ...same[0]!, token, ttl: ofMajority('ttl'), since: ofMajority('since') };
}

/** The token of a hold is that of a majority. A master that granted it late may have another one. */
function mostFrequent(numbers: readonly number[]): number {
  const count = (number: number): number => numbers.filter((each) => each === number).length;
  return [...numbers].sort((a, b) => count(b) - count(a) || b - a)[0]!;
}

/** In the order of the longest queue. Waiters that it lacks follow. */
function mergeWaiters(replies: readonly StoredLock[]): StoredLock['waiters'] {
  const byLength = replies.map(({ waiters }) => waiters).sort((a, b) => b.length - a.length);
  const merged = new Map<string, StoredWaiter>();
  for (const waiter of byLength.flat()) {
    const { since = waiter.since } = merged.get(waiter.id) ?? {};
    // A master that has lost its data counts from a later moment.
    merged.set(waiter.id, { ...waiter, since: Math.min(since, waiter.since) });
  }
  return [...merged.values()];
}

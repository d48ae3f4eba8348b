import {
  FOLLOWER_PERIOD,
  NO_TOKEN,
  type AcquireReply,
  type AcquireRequest,
  type ContendedReply,
  type ForceReleaseReply,
  type HoldMode,
  type StoredHold,
  type StoredLock,
} from '../store/lock-store.js';
import { leaseLeft } from '../store/redis/replies.js';
import { flag, integer, list, natural, oneOf, optionalText, text, tuple } from '../store/redis/reply-readers.js';
import type { RedissonNames } from './redisson-names.js';

/** What the scripts that acquire reply first. */
const BUSY = 0;
const HELD = 1;
const LEFT = 2;
const TOO_MANY = 3;
/** What `lua/redisson/extend.lua` replies for a longer lease than a read lock may have. */
const TOO_LONG = -2;

/** How the field of a writer ends. */
const WRITE = /:write$/;
/** A waiter retries this many ms after the lease that blocks it has ended. */
const AFTER_EXPIRY = 2;

/** The longest period of a request that follows no others, in `grantTimeout`s. */
const LONGEST_PERIOD = 4 / 3;

/** Whether a request is for an `RLock`, not for an `RReadWriteLock` or a semaphore. */
export const isPlain = (mode: HoldMode): boolean => mode.kind === 'exclusive' && mode.isWrite !== true;

/** The channel on which a request is woken. */
export const channelOf = (
  { channel, sharedChannel, permitsChannel }: RedissonNames,
  { id, mode, fair }: AcquireRequest,
): string =>
  fair ? `${channel}:${id}` : isPlain(mode) ? channel : mode.kind === 'permits' ? permitsChannel : sharedChannel;

/** The channels in the order in which scripts get them. */
export const channelsOf = ({ channel, sharedChannel, permitsChannel }: RedissonNames): string[] => [
  channel,
  sharedChannel,
  permitsChannel,
];

/** The owner that a field of a lock's hash stands for: none for `mode`. */
export function ownerOf(field: string | null): string[] {
  return field === null || field === 'mode' ? [] : [field.replace(WRITE, '')];
}

/** Reads the fields of a lock and their leases. */
export function readHolds(fields: readonly unknown[], isShared: boolean, token: number): StoredHold[] {
  const holds: StoredHold[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const field = String(fields[i]);
    const id = field.replace(WRITE, '');
    const mode: HoldMode = isShared && id === field ? { kind: 'read' } : { kind: 'exclusive' };
    // Redisson does not store when a lock was acquired.
    holds.push({ id, owner: id, mode, kept: false, token, ttl: Number(fields[i + 1]), since: Number.NaN });
  }
  return holds;
}

/** Reads a semaphore. Permits that an `RSemaphore` has taken are counted nowhere, so they are not part of its limit. */
export function readPermits(free: number, permits: readonly unknown[]): StoredLock {
  const owners = new Map<string, { units: number; ttl: number }>();
  for (let i = 0; i < permits.length; i += 2) {
    // A permit of this library is that of an acquisition and a number, one of Redisson is an owner of its own.
    const [client, acquisition] = String(permits[i]).split(':');
    const id = acquisition === undefined ? client! : `${client}:${acquisition}`;
    owners.set(id, { units: (owners.get(id)?.units ?? 0) + 1, ttl: Number(permits[i + 1]) });
  }
  const limit = free + permits.length / 2;
  const holds = [...owners].map(([id, { units, ttl }]): StoredHold => {
    const mode: HoldMode = { kind: 'permits', units, limit };
    return { id, owner: id, mode, kept: false, token: NO_TOKEN, ttl, since: Number.NaN };
  });
  return { lastToken: NO_TOKEN, holds, waiters: [], limit };
}

/** `left`: ms until the lock ends if no client renews it; negative: it has no TTL, or is not known. */
export function contended(
  outcome: 'queued' | 'busy',
  { period, grantTimeout }: AcquireRequest,
  left = -1,
  holders: readonly string[] = [],
): ContendedReply {
  // By itself, a waiter retries more often than Redisson does: it then notices a lost message within this period.
  // Redisson does not tell the next waiter when a lease ends, so a request that follows no others retries as often as ever.
  const longest = period < FOLLOWER_PERIOD * grantTimeout ? Math.min(period, LONGEST_PERIOD * grantTimeout) : period;
  const retryAfter = left < 0 ? longest : Math.min(longest, left + AFTER_EXPIRY);
  return { outcome, time: 0, retryAfter, lastToken: NO_TOKEN, holders };
}

/** Reads the reply of the scripts that acquire. */
export function readAcquireReply(raw: unknown, request: AcquireRequest): AcquireReply {
  const parts = list(raw, 1);
  const code = oneOf(parts[0], BUSY, HELD, LEFT, TOO_MANY);
  if (code === BUSY) {
    const [, left, ...fields] = list(parts, 2);
    return contended('busy', request, integer(left), fields.map(optionalText).flatMap(ownerOf));
  }
  if (code === LEFT) {
    tuple(parts, 1);
    return { outcome: 'left', time: 0 };
  }
  const [, value] = tuple(parts, 2);
  if (code === TOO_MANY) return { outcome: 'too many', time: 0, limit: natural(value) };
  // Another program may have deleted the counter of an RFencedLock.
  const token = value === null ? NO_TOKEN : natural(value);
  return { outcome: 'held', time: 0, token, lease: request.lease, batchSize: 1 };
}

/** Reads the reply of `lua/redisson/release.lua`. */
export function readReleaseReply(raw: unknown): readonly [released: boolean, unheard: string | null] {
  const [released, unheard] = tuple(raw, 2);
  return [flag(released), optionalText(unheard)];
}

/** Reads the reply of `lua/redisson/extend.lua`. */
export function readExtendReply(raw: unknown): number | 'not-held' | 'too long' {
  return integer(raw, TOO_LONG) === TOO_LONG ? 'too long' : leaseLeft(raw);
}

/** Reads the reply of `lua/redisson/force-release.lua`. */
export function readForceReleaseReply(raw: unknown): ForceReleaseReply {
  const [ended, told] = tuple(raw, 2);
  return { holds: natural(ended), told: natural(told) };
}

/** The reply of `lua/redisson/inspect.lua`. */
export interface Inspection {
  /** The last token, or the number of free permits. */
  readonly counter: number;
  /** The mode of an RReadWriteLock; 'permits': a semaphore. */
  readonly readWrite: string | null;
  /** Each owner or permit, followed by its lease in ms. */
  readonly owners: ReadonlyArray<string | number>;
}

export function readInspectReply(raw: unknown): Inspection {
  const [counter, readWrite, owners] = tuple(raw, 3);
  const parts = list(owners);
  return {
    counter: integer(counter),
    readWrite: optionalText(readWrite),
    owners: parts.map((part, i) => (i % 2 === 0 ? text(part) : integer(part))),
  };
}

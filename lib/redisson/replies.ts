import { LockConfigError } from '../errors/index.js';
import {
  FOLLOWER_PERIOD,
  NO_TOKEN,
  type AcquireReply,
  type AcquireRequest,
  type ContendedReply,
  type ForceReleaseReply,
  type HoldMode,
  type RenewReply,
  type RenewRequest,
  type StoredHold,
  type StoredLock,
} from '../store/lock-store.js';
import { leaseLeft } from '../store/redis/replies.js';
import { flag, integer, list, natural, oneOf, optionalText, text, tuple } from '../store/redis/reply-readers.js';
import { readLeaseTooLong } from './lacking-features.js';
import type { RedissonNames } from './redisson-names.js';

/** What the scripts that acquire reply first. */
const BUSY = 0;
const HELD = 1;
const LEFT = 2;
const TOO_MANY = 3;
/** What `lua/redisson/renew.lua` replies for a longer lease than a read lock may have. */
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
export function channelOf({ channels }: RedissonNames, { id, mode, fair }: AcquireRequest): string {
  const [plain, shared, permits] = channels;
  return fair ? `${plain}:${id}` : isPlain(mode) ? plain : mode.kind === 'permits' ? permits : shared;
}

/** The owner that a field of a lock's hash stands for: none for `mode`. */
export function ownerOf(field: string | null): string[] {
  return field === null || field === 'mode' ? [] : [field.replace(WRITE, '')];
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

/** Reads the reply of `lua/redisson/renew.lua` about one lease. `longest`: that of a read lock, in ms. */
export function readRenewReply(raw: unknown, { key, lease }: RenewRequest, longest: number): RenewReply {
  if (integer(raw, TOO_LONG) !== TOO_LONG) return leaseLeft(raw);
  return new LockConfigError(readLeaseTooLong(lease, longest), { key });
}

/** Reads the reply of `lua/redisson/force-release.lua`. */
export function readForceReleaseReply(raw: unknown): ForceReleaseReply {
  const [ended, told] = tuple(raw, 2);
  return { holds: natural(ended), told: natural(told) };
}

/** Reads the reply of `lua/redisson/inspect.lua`. `isFenced`: the counter of the lock is its last token. */
export function readInspectReply(raw: unknown, isFenced: boolean): StoredLock {
  const [first, second, third] = tuple(raw, 3);
  const [counter, readWrite, parts] = [integer(first), optionalText(second), list(third)];
  // Permits that an RSemaphore has taken are counted nowhere, so they are not part of its limit.
  const limit = readWrite === 'permits' ? counter + parts.length / 2 : undefined;
  const token = isFenced && readWrite === null ? counter : NO_TOKEN;
  const holds = new Map<string, StoredHold>();
  for (let i = 0; i < parts.length; i += 2) {
    const field = text(parts[i]);
    // A permit of this library is that of an acquisition and a number, one of Redisson is an owner of its own.
    const id = limit === undefined ? field.replace(WRITE, '') : field.split(':', 2).join(':');
    const name = limit === undefined ? field : id;
    const before = holds.get(name)?.mode;
    const units = before?.kind === 'permits' ? before.units + 1 : 1;
    const reads = readWrite !== null && id === field;
    const mode: HoldMode =
      limit === undefined ? { kind: reads ? 'read' : 'exclusive' } : { kind: 'permits', units, limit };
    // Redisson does not store when a lock was acquired.
    holds.set(name, { id, owner: id, mode, kept: false, token, ttl: integer(parts[i + 1]), since: Number.NaN });
  }
  return { lastToken: token, holds: [...holds.values()], waiters: [], limit };
}

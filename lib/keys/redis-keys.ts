import { LockConfigError } from '../errors/index.js';
import { describe, quote } from '../common/describe.js';
import { hashTag } from './hash-slot.js';
import { hasHashTag, keyFault } from './lock-key.js';

/** The names under which Redis keeps one lock. All are in the same Redis Cluster slot. */
export interface RedisKeys {
  /** Who holds the lock, with its token; the key's TTL is the lease. */
  readonly state: string;
  /** Who waits, in order. */
  readonly queue: string;
  /** What is known about those who wait. */
  readonly waiters: string;
  /** The last token that was given. */
  readonly fence: string;
  /** Acquisitions that left before they came. */
  readonly gone: string;
  /** The number of permits, where it was set at run time. */
  readonly limit: string;
}

/** The names under which Redis keeps a count-down latch. */
export interface LatchKeys {
  /** Its count. */
  readonly latch: string;
  /** What has been counted down lately. */
  readonly counted: string;
}

const PREFIX = /^[\w\-:.]{1,64}$/;

/**
 * Names what Redis keeps for a key that `assertKey` let pass. The role stands before the key, so that no key can be
 * another lock's part. `stock:42` is put in braces, `order:{42}:pay` has a hash tag of its own and keeps it.
 */
export function redisKeys(prefix: string, key: string): RedisKeys {
  const name = tagged(key);
  return {
    state: `${prefix}:state:${name}`,
    queue: `${prefix}:queue:${name}`,
    waiters: `${prefix}:waiters:${name}`,
    fence: `${prefix}:fence:${name}`,
    gone: `${prefix}:gone:${name}`,
    limit: `${prefix}:limit:${name}`,
  };
}

/** As `redisKeys`, for a latch. */
export function latchKeys(prefix: string, key: string): LatchKeys {
  const name = tagged(key);
  return { latch: `${prefix}:latch:${name}`, counted: `${prefix}:counted:${name}` };
}

/** How a key stands in all names that are made of it. */
export const tagged = (key: string): string => (hasHashTag(key) ? key : `{${key}}`);

/** Matches the names of the states of all locks, for SCAN. */
export const statePattern = (prefix: string): string => `${prefix}:state:*`;

/** The key whose state has this name; `undefined`: none. */
export function keyOfState(prefix: string, name: string): string | undefined {
  const start = `${prefix}:state:`;
  if (!name.startsWith(start)) return undefined;
  const tagged = name.slice(start.length);
  const [, bare] = /^\{(.*)\}$/su.exec(tagged) ?? [];
  return [bare, tagged].find(
    (key) => key !== undefined && keyFault(key) === undefined && redisKeys(prefix, key).state === name,
  );
}

/** The channel on which a client hears of its grants. */
export const clientChannel = (prefix: string, clientId: string): string => `${prefix}:client:${clientId}`;

/** The channel of a client in a Redis Cluster that reaches it wherever it listens. */
export const busChannel = (prefix: string, clientId: string): string => `${prefix}:client:bus:${clientId}`;

/** The channel of a client in the slot of a key; with `''` for the client what stands before its id. */
export const shardChannel = (prefix: string, key: string, clientId: string): string =>
  `${prefix}:client:{${hashTag(tagged(key))}}:${clientId}`;

/**
 * Checks what stands before every key and channel, and gives it back. No braces: they would choose the slot.
 * @throws LockConfigError unless it is 1 to 64 letters, digits, `_`, `-`, `.` and `:`
 */
export function assertKeyPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return prefix;
  const given = typeof prefix === 'string' && prefix !== '' ? quote(prefix) : describe(prefix);
  throw new LockConfigError(
    `keyPrefix must be 1 to 64 letters, digits, '_', '-', '.' and ':', such as 'lock' or 'shop:lock'; it is ${given}.`,
  );
}

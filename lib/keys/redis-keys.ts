import { LockConfigError } from '../errors/index.js';
import { describe, quote } from '../common/describe.js';
import { hashTag } from './hash-slot.js';
import { hasHashTag, keyFault } from './lock-key.js';

/** The names of the Redis keys of one lock. All are in the same Redis Cluster slot. */
export interface RedisKeys {
  /** The holds, each with its token. The TTL of the key is the longest lease. */
  readonly state: string;
  /** The tickets, in order. */
  readonly queue: string;
  /** The requests of the tickets. */
  readonly waiters: string;
  /** The last fencing token. */
  readonly fence: string;
  /** Tombstones: acquisitions that were given up before their request arrived. */
  readonly gone: string;
  /** The number of permits, if `setPermits` has set it. */
  readonly limit: string;
}

/** The names of the Redis keys of one count-down latch. */
export interface LatchKeys {
  /** Its count. */
  readonly latch: string;
  /** The ids of recent calls. */
  readonly counted: string;
}

const PREFIX = /^[\w\-:.]{1,64}$/;

/**
 * Names the Redis keys of a lock whose key `assertKey` has accepted. The role stands before the key, so that no lock can have
 * the name of a part of another one. `stock:42` is put in braces; `order:{42}:pay` keeps its own hash tag.
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

/** Like `redisKeys`, for a latch. */
export function latchKeys(prefix: string, key: string): LatchKeys {
  const name = tagged(key);
  return { latch: `${prefix}:latch:${name}`, counted: `${prefix}:counted:${name}` };
}

/** The form of a key in all names that contain it. */
export const tagged = (key: string): string => (hasHashTag(key) ? key : `{${key}}`);

/** The pattern of the state keys of all locks, for SCAN. */
export const statePattern = (prefix: string): string => `${prefix}:state:*`;

/** The key of the lock whose state has this name; `undefined`: the name is none of a state. */
export function keyOfState(prefix: string, name: string): string | undefined {
  const start = `${prefix}:state:`;
  if (!name.startsWith(start)) return undefined;
  const tagged = name.slice(start.length);
  const [, bare] = /^\{(.*)\}$/su.exec(tagged) ?? [];
  return [bare, tagged].find(
    (key) => key !== undefined && keyFault(key) === undefined && redisKeys(prefix, key).state === name,
  );
}

/** The channel on which a client receives its grants. */
export const clientChannel = (prefix: string, clientId: string): string => `${prefix}:client:${clientId}`;

/** The channel on which a client of a Redis Cluster receives messages from every node. */
export const busChannel = (prefix: string, clientId: string): string => `${prefix}:client:bus:${clientId}`;

/** The channel of a client in the slot of a key; with `''` as the client, the part before its id. */
export const shardChannel = (prefix: string, key: string, clientId: string): string =>
  `${prefix}:client:{${hashTag(tagged(key))}}:${clientId}`;

/**
 * Checks the prefix of every key and channel, and returns it. No braces: they would choose the slot.
 * @throws LockConfigError unless it is 1 to 64 letters, digits, `_`, `-`, `.` and `:`
 */
export function assertKeyPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return prefix;
  const given = typeof prefix === 'string' && prefix !== '' ? quote(prefix) : describe(prefix);
  throw new LockConfigError(
    `keyPrefix must be 1 to 64 letters, digits, '_', '-', '.' and ':', such as 'lock' or 'shop:lock'; it is ${given}.`,
  );
}

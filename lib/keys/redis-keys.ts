import { hashTag, keyFault, tagged } from './lock-key.js';
import { LATCH_KEY_ROLES, LOCK_KEY_ROLES } from './key-roles.generated.js';

/**
 * The names of the Redis keys of one lock, all in the same Redis Cluster slot. What each role holds stands in
 * lua/shared/keys.lua.
 */
export type RedisKeys = Readonly<Record<(typeof LOCK_KEY_ROLES)[number], string>>;

/** The names of the Redis keys of a count-down latch. What each role holds stands in lua/shared/latch.lua. */
export type LatchKeys = Readonly<Record<(typeof LATCH_KEY_ROLES)[number], string>>;

/**
 * The prefix of every key and channel. No braces: they would choose the slot. Behind a prefix with `:state`, every key would
 * look like the state of a lock of a shorter prefix.
 */
export const KEY_PREFIX = /^(?!.*:state(?::|$))[\w\-:.]{1,64}$/;

/**
 * Names the Redis keys of a lock whose key `assertKey` has accepted. The role precedes the key, so that no key can be a part
 * of another lock. `stock:42` is put in braces; `order:{42}:pay` has a hash tag of its own and keeps it.
 */
export const redisKeys = (prefix: string, key: string): RedisKeys => namesOf(LOCK_KEY_ROLES, prefix, key);

/** As `redisKeys`, for a latch. */
export const latchKeys = (prefix: string, key: string): LatchKeys => namesOf(LATCH_KEY_ROLES, prefix, key);

function namesOf<Role extends string>(roles: readonly Role[], prefix: string, key: string): Record<Role, string> {
  const name = tagged(key);
  const names = {} as Record<Role, string>;
  for (const role of roles) names[role] = `${prefix}:${role}:${name}`;
  return names;
}

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

/** The key of what a client says of itself. No lock has it, and in a Cluster it has a slot of its own. */
export const clientRecordKey = (prefix: string, clientId: string): string => `${prefix}:client:${clientId}`;

/** The channel on which a client of a Redis Cluster receives messages from every node. */
export const busChannel = (prefix: string, clientId: string): string => `${prefix}:client:bus:${clientId}`;

/** The channel of a client in the slot of a key; with `''` as the client, the part before its id. */
export const shardChannel = (prefix: string, key: string, clientId: string): string =>
  `${prefix}:client:{${hashTag(tagged(key))}}:${clientId}`;

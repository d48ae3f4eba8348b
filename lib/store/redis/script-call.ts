import { clientChannel, LOCK_KEY_ROLES, redisKeys, shardChannel, tagged } from '../../keys/index.js';

/** A call of a script, by its text or by its hash. */
export interface ScriptCall {
  readonly command: 'eval' | 'evalsha';
  readonly script: string;
  readonly keys: ScriptKeys;
  readonly args: readonly ScriptArg[];
}

/** A function is called each time the command is written. After a lost reply, the command is written again. */
export type ScriptArg = string | number | (() => string);

/** The keys of a script. Each of them has a prefix, and the name that they share. */
export interface ScriptKeys {
  /** The key of the lock or latch, which errors name; `undefined`: the script concerns none, or several that may also be sent alone. */
  readonly key: string | undefined;
  readonly prefixes: KeyPrefixes;
  readonly name: string;
}

/** What stands before the shared name of keys. */
export interface KeyPrefixes {
  readonly texts: readonly string[];
  /** The same as they begin on the wire, by the length of the shared name in bytes. The encoder fills it. */
  readonly onWire: Array<readonly string[] | undefined>;
}

/** Keys that share no name. */
export const namedKeys = (names: readonly string[], key?: string): ScriptKeys => ({
  key,
  prefixes: { texts: names, onWire: [] },
  name: '',
});

/** The names of the keys. */
export const namesOf = ({ prefixes, name }: ScriptKeys): string[] => prefixes.texts.map((prefix) => prefix + name);

/** What the key of a lock names in Redis. */
export interface LockKeys extends ScriptKeys {
  /**
   * Where scripts send messages about the lock, as `lua/shared/messages.lua` reads it: the beginning of the clients' channels,
   * and the key. A key contains no line break.
   */
  readonly address: string;
  /** The channel on which the client receives grants; `undefined`: its own, as for all keys. */
  readonly channel: string | undefined;
}

/** What the keys of locks name in Redis, for one client. */
export class LockNaming {
  private readonly prefixes: KeyPrefixes;
  /** The beginning of the channels of all clients. In a Cluster, it depends on the key. */
  private readonly channels: string | undefined;

  constructor(
    private readonly keyPrefix: string,
    private readonly clientId: string,
    isCluster: boolean,
  ) {
    const names = redisKeys(keyPrefix, 'a');
    this.prefixes = { texts: LOCK_KEY_ROLES.map((role) => names[role].slice(0, -tagged('a').length)), onWire: [] };
    if (!isCluster) this.channels = clientChannel(keyPrefix, '');
  }

  of(key: string): LockKeys {
    const { prefixes, channels } = this;
    const name = tagged(key);
    if (channels !== undefined) return { key, prefixes, name, address: `${channels}\n${key}`, channel: undefined };
    const inSlot = shardChannel(this.keyPrefix, key, '');
    return { key, prefixes, name, address: `${inSlot}\n${key}`, channel: inSlot + this.clientId };
  }
}

/** The arguments of `EVAL` and `EVALSHA`. */
export const allArgs = ({ script, keys, args }: ScriptCall): [string, number, ...Array<string | number>] => [
  script,
  keys.prefixes.texts.length,
  ...namesOf(keys),
  ...args.map((arg) => (typeof arg === 'function' ? arg() : arg)),
];

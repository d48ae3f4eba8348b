import { LOCK_KEY_ROLES, redisKeys, tagged } from '../../keys/index.js';
import { bulk, bulkStart } from './resp.js';

/** The keys of a script: their names, and the same names encoded for the wire. */
export interface ScriptKeys {
  /** The key of the lock or latch, which errors name; `undefined`: the script concerns none. */
  readonly key: string | undefined;
  readonly count: number;
  readonly names: readonly string[];
  readonly wire: string;
}

export const namedKeys = (names: readonly string[], key?: string): ScriptKeys => ({
  key,
  count: names.length,
  names,
  get wire() {
    return names.map(bulk).join('');
  },
});

/** Names the six keys of locks. */
export class LockKeys {
  /** The prefixes of the lock's own name. Each character is one byte. */
  readonly prefixes: readonly string[];
  /** What stands on the wire before the lock's own name, by its length in bytes. */
  private readonly starts: Array<readonly string[]> = [];

  constructor(prefix: string) {
    const names = redisKeys(prefix, 'a');
    this.prefixes = LOCK_KEY_ROLES.map((role) => names[role].slice(0, -tagged('a').length));
  }

  of(key: string): ScriptKeys {
    return new KeysOfLock(this, key, tagged(key));
  }

  startsBefore(name: string): readonly string[] {
    const bytes = Buffer.byteLength(name);
    return (this.starts[bytes] ??= this.prefixes.map((prefix) => bulkStart(prefix, bytes)));
  }
}

/**
 * The names of one lock's keys. They differ only in their prefixes, so the byte length of the lock's own name is
 * computed once. Computing it for each key would cost more than the rest of a command.
 */
class KeysOfLock implements ScriptKeys {
  constructor(
    private readonly keys: LockKeys,
    readonly key: string,
    private readonly name: string,
  ) {}

  get count(): number {
    return this.keys.prefixes.length;
  }

  get names(): string[] {
    return this.keys.prefixes.map((prefix) => prefix + this.name);
  }

  get wire(): string {
    const { keys, name } = this;
    let wire = '';
    for (const start of keys.startsBefore(name)) wire += start + name;
    return wire;
  }
}

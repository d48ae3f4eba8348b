import { LOCK_KEY_ROLES, redisKeys, tagged } from '../../keys/index.js';

/** The keys of a script: their names, and the same names encoded for the wire. */
export interface ScriptKeys {
  readonly count: number;
  readonly names: readonly string[];
  readonly wire: string;
}

/** Encodes a text for the wire: a bulk string of RESP. */
export const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

export const namedKeys = (names: readonly string[]): ScriptKeys => ({
  count: names.length,
  names,
  get wire() {
    return names.map(bulk).join('');
  },
});

/** Names the six keys of locks. */
export class LockKeys {
  /** The prefixes of the lock's own name. Each character is one byte. */
  private readonly heads: readonly string[];

  constructor(prefix: string) {
    const names = redisKeys(prefix, 'a');
    this.heads = LOCK_KEY_ROLES.map((role) => names[role].slice(0, -tagged('a').length));
  }

  of(key: string): ScriptKeys {
    return new KeysOfLock(this.heads, tagged(key));
  }
}

/**
 * The names of one lock's keys. They differ only in their prefixes, so the byte length of the lock's own name is
 * computed once. Computing it for each key would cost more than the rest of a command.
 */
class KeysOfLock implements ScriptKeys {
  constructor(
    private readonly heads: readonly string[],
    private readonly name: string,
  ) {}

  get count(): number {
    return this.heads.length;
  }

  get names(): string[] {
    return this.heads.map((head) => head + this.name);
  }

  get wire(): string {
    const { heads, name } = this;
    const bytes = Buffer.byteLength(name);
    let wire = '';
    for (const head of heads) wire += `$${head.length + bytes}\r\n${head}${name}\r\n`;
    return wire;
  }
}

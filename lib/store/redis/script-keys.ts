import { LOCK_KEY_ROLES, redisKeys, tagged } from '../../keys/index.js';

/** The keys of a script: their names, and the same as they go over the wire. */
export interface ScriptKeys {
  readonly count: number;
  readonly names: readonly string[];
  readonly wire: string;
}

/** A text as it goes over the wire: a bulk string of RESP. */
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
  /** What stands before the lock's own name; one byte each character. */
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
 * Their names differ only in what stands before the lock's own, which is counted once. Counted one by one they would cost
 * more than the rest of a command.
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

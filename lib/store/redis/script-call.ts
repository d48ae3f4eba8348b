import { LOCK_KEY_ROLES, redisKeys, tagged } from '../../keys/index.js';

/** A call of a script, by its text or by its hash. */
export interface ScriptCall {
  readonly command: 'eval' | 'evalsha';
  readonly script: string;
  readonly keys: ScriptKeys;
  readonly args: ReadonlyArray<string | number>;
}

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

/** Names the keys of locks. */
export class LockKeys {
  /** What stands before the lock's own name. Each character is one byte. */
  readonly prefixes: readonly string[];
  /** The same on the wire, by the length of the lock's own name in bytes. */
  readonly starts: Array<readonly string[]> = [];

  constructor(prefix: string) {
    const names = redisKeys(prefix, 'a');
    this.prefixes = LOCK_KEY_ROLES.map((role) => names[role].slice(0, -tagged('a').length));
  }

  of(key: string): ScriptKeys {
    return new KeysOfLock(this, key, tagged(key));
  }
}

/**
 * The names of one lock's keys. They differ only in their prefixes, so the byte length of the lock's own name is
 * computed once. Computing it for each key would cost more than the rest of a command.
 */
class KeysOfLock implements ScriptKeys {
  readonly count = LOCK_KEY_ROLES.length;

  constructor(
    private readonly keys: LockKeys,
    readonly key: string,
    private readonly name: string,
  ) {}

  get names(): string[] {
    return this.keys.prefixes.map((prefix) => prefix + this.name);
  }

  get wire(): string {
    const { keys, name } = this;
    const bytes = Buffer.byteLength(name);
    const starts = (keys.starts[bytes] ??= keys.prefixes.map((prefix) => headOf(prefix.length + bytes) + prefix));
    let wire = '';
    for (const start of starts) wire += start + name;
    return wire;
  }
}

/** The arguments of `EVAL` and `EVALSHA`. */
export const allArgs = ({ script, keys, args }: ScriptCall): [string, number, ...Array<string | number>] => [
  script,
  keys.count,
  ...keys.names,
  ...args,
];

/** The command of a call in RESP. */
export function encodeCall({ command, script, keys, args }: ScriptCall): string {
  let wire = (command === 'evalsha' ? startOf(script, keys.count) : startWith(command, script, keys.count)) + keys.wire;
  for (const arg of args) {
    const text = String(arg);
    // A number is ASCII.
    wire += headOf(typeof arg === 'number' ? text.length : Buffer.byteLength(text)) + text;
  }
  return `*${args.length + keys.count + 3}${wire}\r\n`;
}

/** The starts of calls by hash: by the hash, and the number of keys. */
const starts = new Map<string, string[]>();

function startOf(sha1: string, keyCount: number): string {
  let ofScript = starts.get(sha1);
  if (ofScript === undefined) starts.set(sha1, (ofScript = []));
  return (ofScript[keyCount] ??= startWith('evalsha', sha1, keyCount));
}

/** Encodes what a command begins with. In one piece: pieces would be joined again for each command. */
const startWith = (command: string, script: string, keyCount: number): string =>
  [command, script, String(keyCount)].map(bulk).join('');

/**
 * Encodes a text as a bulk string of RESP. It begins with the line break that ends what stands before it, and has none at
 * its end, so that few strings have to be joined.
 */
const bulk = (text: string): string => headOf(Buffer.byteLength(text)) + text;

/** Heads of strings up to this length are built once: a command has fifteen strings, and most are short. */
const KNOWN_LENGTHS = 1_024;
const heads: string[] = [];

const headOf = (bytes: number): string =>
  bytes < KNOWN_LENGTHS ? (heads[bytes] ??= buildHead(bytes)) : buildHead(bytes);

const buildHead = (bytes: number): string => `\r\n$${bytes}\r\n`;

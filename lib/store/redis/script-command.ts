import { Command, Redis, type Cluster } from 'ioredis';
import { asciiBulk, bulk, encodeCommand } from './resp.js';
import type { ScriptKeys } from './script-keys.js';

/** A call of a script. */
export interface ScriptCall {
  /** Calls the script by its text or by its hash. */
  readonly command: 'eval' | 'evalsha';
  readonly script: string;
  readonly keys: ScriptKeys;
  readonly args: ReadonlyArray<string | number>;
}

/** The arguments of `EVAL` and `EVALSHA`. */
export const allArgs = ({ script, keys, args }: ScriptCall): [string, number, ...Array<string | number>] => [
  script,
  keys.count,
  ...keys.names,
  ...args,
];

/** Whether a client can send a `ScriptCommand`. A Cluster could not find out to which node. */
export const takesScriptCommands = (client: Redis | Cluster): client is Redis => client instanceof Redis;

/** Encodes what a command begins with. In one piece: pieces would be joined again for each command. */
const startWith = (command: string, script: string, keyCount: number): string =>
  [command, script, String(keyCount)].map(bulk).join('');

/** The starts of calls by hash: by the hash, and the number of keys. */
const starts = new Map<string, string[]>();

function startOf(sha1: string, keyCount: number): string {
  let ofScript = starts.get(sha1);
  if (ofScript === undefined) starts.set(sha1, (ofScript = []));
  return (ofScript[keyCount] ??= startWith('evalsha', sha1, keyCount));
}

const NO_ARGS: string[] = [];
const OPTIONS = { replyEncoding: 'utf8' } as const;

/**
 * A call of a script that encodes itself for the wire. ioredis would process each of some fifteen arguments three
 * times, which takes twice as long.
 */
export class ScriptCommand extends Command {
  private readonly call: ScriptCall | undefined;

  static {
    // ioredis reads `args` to show a command in errors and traces. Its constructor reads them, too.
    Object.defineProperty(this.prototype, 'args', {
      get(this: ScriptCommand) {
        return this.call === undefined ? [] : allArgs(this.call).map(String);
      },
      set: () => undefined,
    });
  }

  constructor(call: ScriptCall) {
    super(call.command, NO_ARGS, OPTIONS);
    this.call = call;
  }

  override toWritable(): string {
    const { command, script, keys, args } = this.call!;
    let wire =
      (command === 'evalsha' ? startOf(script, keys.count) : startWith(command, script, keys.count)) + keys.wire;
    for (const arg of args) wire += typeof arg === 'number' ? asciiBulk(String(arg)) : bulk(arg);
    return encodeCommand(args.length + keys.count + 3, wire);
  }
}

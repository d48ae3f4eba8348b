import { Command, Redis, type Cluster } from 'ioredis';
import { bulk, type ScriptKeys } from './script-keys.js';

/** What a script is called with. */
export interface ScriptCall {
  /** By its text or by its hash. */
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

/** Whether a client takes a `ScriptCommand`; one of another copy of ioredis need not, and a prefix is put before keys by name. */
export const takesScriptCommands = (client: Redis | Cluster): client is Redis =>
  client instanceof Redis && !client.options.keyPrefix;

/**
 * A call of a script that writes itself as it goes over the wire. ioredis would go through each of some fifteen arguments
 * three times, which takes twice as long.
 */
export class ScriptCommand extends Command {
  private readonly call: ScriptCall | undefined;

  static {
    // What ioredis asks for when it tells what was sent: in errors, in traces. Its constructor asks, too.
    Object.defineProperty(this.prototype, 'args', {
      get(this: ScriptCommand) {
        return this.call === undefined ? [] : allArgs(this.call).map(String);
      },
      set: () => undefined,
    });
  }

  constructor(call: ScriptCall) {
    super(call.command, [], { replyEncoding: 'utf8' });
    this.call = call;
  }

  override toWritable(): string {
    const { command, script, keys, args } = this.call!;
    const head = `*${args.length + keys.count + 3}\r\n${bulk(command)}${bulk(script)}${bulk(String(keys.count))}`;
    let wire = head + keys.wire;
    for (const arg of args) wire += bulk(String(arg));
    return wire;
  }
}

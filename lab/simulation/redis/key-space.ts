import { readFileSync } from 'node:fs';
import type { LuaScript } from '../../../lib/store/redis/scripts.generated.js';
import { RespReader } from '../../testbed/proxies/resp-reader.mjs';
import { LuaVm } from './lua-vm.js';

/** One for all servers of this process: a script is compiled once. */
const vm = await LuaVm.start(readFileSync(new URL('redis.lua', import.meta.url), 'utf8'));
let servers = 0;
/** The hashes of the scripts that are compiled. */
const compiled = new Set<string>();

function compile({ name, sha1, source }: LuaScript): void {
  if (compiled.has(sha1)) return;
  const [problem] = vm.call('load', sha1, source);
  if (problem !== undefined) throw new Error(`${name}: ${problem}`);
  compiled.add(sha1);
}

/** Reads a reply of Redis, as ioredis does. Each character of `wire` is one byte. */
const readReply = (wire: string): unknown => new RespReader('server').push(Buffer.from(wire, 'latin1'))[0]!.value;

/** What a server has executed. */
export interface Executed {
  /** An `Error` if the server refuses. */
  readonly reply: unknown;
  readonly messages: ReadonlyArray<{ readonly channel: string; readonly message: string }>;
  /** The script has used a key that is not among its keys, or has left one without a TTL. */
  readonly fault: string | undefined;
}

/** A key as it is. */
export interface StoredKey {
  /** By the server's clock, in ms; -1: it has no end, or does not exist. */
  readonly ends: number;
  readonly type: 'none' | 'string' | 'hash' | 'zset';
  /** The text, the fields and values, or the members and scores in their order; nothing if the key does not exist. */
  readonly value: string | readonly string[];
}

/** The data of one server, and the clients that have subscribed there. All times are µs by its clock. */
export class KeySpace {
  private readonly number = ++servers;

  /** `seed`: decides the order in which a hash is read. `node`: the id of the server in a Cluster, if it is in one. */
  constructor(seed: number, node?: string) {
    vm.call('create', this.number, seed, ...(node === undefined ? [] : [node]));
  }

  /** The same keys, without the subscribers. */
  copy(node?: string): KeySpace {
    const copy = new KeySpace(0, node);
    vm.call('copy', this.number, copy.number);
    return copy;
  }

  run(time: number, script: LuaScript, keys: readonly string[], args: ReadonlyArray<string | number>): Executed {
    compile(script);
    const texts = args.map(String);
    const executed = vm.call('run', this.number, time, script.sha1, keys.length, ...keys, ...texts);
    return read(executed);
  }

  command(time: number, ...words: ReadonlyArray<string | number>): Executed {
    return read(vm.call('command', this.number, time, ...words.map(String)));
  }

  look(time: number, ...names: readonly string[]): StoredKey[] {
    const keys = readReply(vm.call('look', this.number, time, ...names)[0]!) as Array<[number, string, string]>;
    return keys.map(([ends, type, value]) => ({ ends, type, value }) as StoredKey);
  }

  names(time: number): string[] {
    return readReply(vm.call('names', this.number, time)[0]!) as string[];
  }

  subscribed(channel: string, subscribers: number): void {
    vm.call('subscribed', this.number, channel, subscribers);
  }

  /** Its memory is free from then on. */
  drop(): void {
    vm.call('drop', this.number);
  }
}

function read([reply, published, fault]: ReadonlyArray<string | undefined>): Executed {
  const texts = published === undefined ? [] : (readReply(published) as string[]);
  const messages = Array.from({ length: texts.length / 2 }, (_, i) => ({
    channel: texts[2 * i]!,
    message: texts[2 * i + 1]!,
  }));
  return { reply: readReply(reply!), messages, fault };
}

import { latchKeys } from '../../keys/index.js';
import type { CountDownReply, LatchCount, LatchStore, SetCountRequest } from '../latch-store.js';
import type { ReplicateRequest } from '../lock-store.js';
import type { ConnectionOptions } from './connection.js';
import type { Connection } from './redis-connection.js';
import { flag, list, natural, text, tuple } from './reply-readers.js';
import { namedKeys, type LockNaming, type ScriptKeys } from './script-call.js';

/**
 * For how many `commandTimeout`s Redis remembers a call that has had its effect, or executes a late one. A dead connection is
 * detected after three. Then every command that got no reply is sent again.
 */
export const MEMORY = 5;

/** Reads the count that is left, and whether the call has counted. */
export function readCountDownReply(raw: unknown): CountDownReply {
  const [left, counted] = tuple(raw, 2);
  return { left: natural(left), counted: flag(counted) };
}

/** Count-down latches on one Redis server. */
export class RedisLatches implements LatchStore {
  private readonly memory: number;
  // Private, because it knows the connection and its password: code that prints a latch must not reach them.
  readonly #connection: Connection;

  constructor(
    connection: Connection,
    private readonly naming: LockNaming,
    private readonly options: Pick<ConnectionOptions, 'clientId' | 'keyPrefix' | 'commandTimeout'>,
  ) {
    this.#connection = connection;
    this.memory = MEMORY * options.commandTimeout;
  }

  setCount({ key, id, count, lifetime }: SetCountRequest): Promise<boolean> {
    return this.#connection.scripts.run('latchSet', this.keysOf(key), [id, count, lifetime, this.memory], flag);
  }

  countDown(key: string, id: string): Promise<CountDownReply> {
    const args = [this.naming.of(key).address, id, this.memory];
    return this.#connection.scripts.run('latchCountDown', this.keysOf(key), args, readCountDownReply);
  }

  count(key: string, patience: number, seen: readonly string[]): Promise<LatchCount> {
    const args = [this.options.clientId, patience, ...seen];
    return this.#connection.scripts.run('latchCount', this.keysOf(key), args, (raw) => {
      const [left, latch, ...opened] = list(raw, 2);
      return { left: natural(left), latch: text(latch), opened: opened.map(text) };
    });
  }

  delete(key: string, id: string, latch: string): Promise<boolean> {
    return this.#connection.scripts.run('latchDelete', this.keysOf(key), [id, latch, this.memory], flag);
  }

  replicate(request: ReplicateRequest): Promise<number> {
    const { counted } = latchKeys(this.options.keyPrefix, request.key);
    return this.#connection.replicas.confirm(request, counted, 'latchConfirm');
  }

  /** The keys, in the order of lua/shared/latch.lua. */
  private keysOf(key: string): ScriptKeys {
    const { latch, counted } = latchKeys(this.options.keyPrefix, key);
    return namedKeys([latch, counted], key);
  }
}

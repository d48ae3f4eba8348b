import { latchKeys } from '../../keys/index.js';
import type { LatchCount, LatchStore } from '../latch-store.js';
import { address } from './replies.js';
import { namedKeys, type ScriptKeys } from './script-keys.js';
import type { ScriptRunner } from './script-runner.js';

/**
 * For how many `commandTimeout`s a call is remembered that has had its effect. A connection that is dead without
 * anybody having closed it is found out after three, and then everything that got no reply is sent again.
 */
const MEMORY = 5;

export interface RedisLatchesOptions {
  readonly keyPrefix: string;
  /** ms */
  readonly commandTimeout: number;
}

/** Count-down latches on one Redis server. */
export class RedisLatches implements LatchStore {
  private readonly memory: number;
  readonly #scripts: ScriptRunner;
  private lastName = 0;

  constructor(
    scripts: ScriptRunner,
    /** What stands before a client's id in the name of its channel for a key. */
    private readonly channels: (key: string) => string,
    private readonly clientId: string,
    private readonly options: RedisLatchesOptions,
  ) {
    this.#scripts = scripts;
    this.memory = MEMORY * options.commandTimeout;
  }

  async setCount(key: string, count: number, lifetime: number): Promise<boolean> {
    this.lastName += 1;
    // Apart from the ids of acquisitions and count-downs, which the engine makes.
    const name = `${this.clientId}:latch:${this.lastName}`;
    return Number(await this.#scripts.run('latchSet', this.keysOf(key), [name, count, lifetime, this.memory])) === 1;
  }

  async countDown(key: string, id: string): Promise<number> {
    return Number(
      await this.#scripts.run('latchCountDown', this.keysOf(key), [address(this.channels(key), key), id, this.memory]),
    );
  }

  async count(key: string, patience: number): Promise<LatchCount> {
    const reply = await this.#scripts.run('latchCount', this.keysOf(key), [this.clientId, patience]);
    const [left, latch] = reply as [number, string];
    return { left: Number(left), latch };
  }

  /** In the order of lua/shared/latch.lua. */
  private keysOf(key: string): ScriptKeys {
    const { latch, counted } = latchKeys(this.options.keyPrefix, key);
    return namedKeys([latch, counted]);
  }
}

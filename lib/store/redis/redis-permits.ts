import { LockStoreError } from '../../errors/index.js';
import type { AddPermitsRequest, KeepUnitsRequest, PermitStore } from '../permit-store.js';
import type { LockCommands } from './lock-commands.js';
import { integer, matching, natural, tuple } from './reply-readers.js';
import type { LockKeys } from './script-keys.js';
import type { ScriptRunner } from './script-runner.js';

/**
 * Redis executes an `add` for at most this many `commandTimeout`s, and remembers it as long. A dead connection is detected
 * after three. Then ioredis sends again every command that got no reply.
 */
const MEMORY = 5;

/** Changes the permits of semaphores on a Redis server or a Cluster. */
export class RedisPermits implements PermitStore {
  // Private, because they know the connection and its password: code that prints them must not reach them.
  readonly #scripts: ScriptRunner;
  readonly #commands: LockCommands;

  constructor(
    scripts: ScriptRunner,
    commands: LockCommands,
    private readonly keys: LockKeys,
    /** ms */
    private readonly commandTimeout: number,
  ) {
    this.#scripts = scripts;
    this.#commands = commands;
  }

  /** As `LockStore.setLimit`. */
  async set(key: string, permits: number): Promise<void> {
    const { version } = await this.look(key);
    const more = await this.#commands.run('setLimit', key, [permits, version], (raw) => integer(raw, -1));
    await this.#commands.grantRemaining(key, more);
  }

  async add({ key, id, change, permits }: AddPermitsRequest): Promise<number> {
    const { time } = await this.look(key);
    const args = [id, change, permits, time + MEMORY * this.commandTimeout];
    const [now, more] = await this.#commands.run('addLimit', key, args, readCountAndPlace);
    if (now < 0) {
      const message = `the change of the permits of '${key}' reached Redis too late; it may have been made before`;
      throw new LockStoreError(message, { key, transient: true });
    }
    await this.#commands.grantRemaining(key, more);
    return now;
  }

  async keepUnits({ key, id, units, keep }: KeepUnitsRequest): Promise<number | 'not-held'> {
    const [left, more] = await this.#commands.run('keepUnits', key, [id, units, keep], readCountAndPlace);
    await this.#commands.grantRemaining(key, more);
    return left < 0 ? 'not-held' : left;
  }

  /** Which call has set the number of permits, and the server's clock. */
  private look(key: string): Promise<{ readonly version: string; readonly time: number }> {
    return this.#scripts.run('limit', this.keys.of(key), [], (raw) => {
      const [version, time] = tuple(raw, 2);
      return { version: matching(/^\d+$/, version)[0], time: natural(time) };
    });
  }
}

/** Reads a number of permits, or -1, and the place from which to go on with the waiters. */
function readCountAndPlace(raw: unknown): readonly [count: number, more: number] {
  const [count, more] = tuple(raw, 2);
  return [integer(count, -1), integer(more, -1)];
}

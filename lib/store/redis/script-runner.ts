import type { Cluster, Redis } from 'ioredis';
import { LockStoreError } from '../../errors/index.js';
import { SCRIPTS, type ScriptName } from './scripts.generated.js';
import { storeFailure } from './store-failure.js';

/**
 * Scripts that are sent as text always: by hash and then, after a NOSCRIPT, again, they would be executed behind what
 * was sent after them. A shorter lease that comes behind a longer one ends under its holder.
 */
const BY_TEXT: ReadonlySet<ScriptName> = new Set(['extend']);

/** Runs scripts by their hash, sends their text where the server does not know them, and bounds how long that takes. */
export class ScriptRunner {
  constructor(
    private readonly client: Redis | Cluster,
    private readonly commandTimeout: number,
    /** Why there is no connection, if there is none. */
    private readonly trouble: () => Error | undefined,
  ) {}

  /**
   * @throws LockStoreError when the server refuses, or has not answered within `commandTimeout`. The script may have
   * been executed all the same, or may be yet.
   */
  run(script: ScriptName, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(this.timedOut()), this.commandTimeout).unref();
      this.send(script, keys, args).then(
        (reply) => {
          clearTimeout(timer);
          resolve(reply);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(storeFailure(error));
        },
      );
    });
  }

  private send(name: ScriptName, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<unknown> {
    const { sha1, source } = SCRIPTS[name];
    if (BY_TEXT.has(name)) return this.client.eval(source, keys.length, ...keys, ...args);
    return this.client.evalsha(sha1, keys.length, ...keys, ...args).catch((error: Error) => {
      // A server that has restarted, or a replica that has taken over. The script has not been executed.
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      return this.client.eval(source, keys.length, ...keys, ...args);
    });
  }

  private timedOut(): LockStoreError {
    const cause = this.trouble();
    const why = cause === undefined ? '' : `: ${cause.message}`;
    return new LockStoreError(`Redis did not answer within ${this.commandTimeout} ms (commandTimeout)${why}`, {
      cause,
      transient: true,
    });
  }
}

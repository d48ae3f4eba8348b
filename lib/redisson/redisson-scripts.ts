import type { LockLogger } from '../common/logger.js';
import { namedKeys } from '../store/redis/script-call.js';
import type { ScriptRunner } from '../store/redis/script-runner.js';
import { flag } from '../store/redis/reply-readers.js';
import { unheardWarning } from './lacking-features.js';
import { readReleaseReply } from './replies.js';
import { SCRIPTS, type ScriptName } from './scripts.generated.js';

/**
 * How messages are published in a Redis Cluster: on sharded channels, on plain ones, or `auto`: sharded if the server answers
 * `PUBSUB SHARDNUMSUB`.
 */
export type ShardedSubscriptionMode = 'auto' | 'on' | 'off';

/** How scripts publish: `lua/redisson/shared/publish.lua`. */
type Publishing = 'single' | 'plain' | 'sharded';

/** The scripts that publish messages. Their last argument says how. */
const PUBLISHING: ReadonlySet<ScriptName> = new Set([
  ...(['acquireFair', 'acquirePermits', 'release', 'forceRelease', 'latchSet', 'latchCountDown'] as const),
]);

/** Runs the scripts, and decides how they publish messages. */
export class RedissonScripts {
  // Private, because it knows the connection and its password: code that prints a latch must not reach them.
  readonly #scripts: ScriptRunner;
  private hasWarned = false;
  private how: Publishing | undefined;

  /** @param mode in a Cluster */
  constructor(
    scripts: ScriptRunner,
    private readonly logger: LockLogger,
    isCluster: boolean,
    mode: ShardedSubscriptionMode = 'auto',
  ) {
    this.#scripts = scripts;
    this.how = !isCluster ? 'single' : mode === 'auto' ? undefined : mode === 'on' ? 'sharded' : 'plain';
  }

  /** Whether channels are sharded. It is known after `decide`. */
  get isSharded(): boolean {
    return this.how === 'sharded';
  }

  run<Reply>(
    key: string,
    name: ScriptName,
    keys: readonly string[],
    args: ReadonlyArray<string | number>,
    read: (reply: unknown) => Reply,
  ): Promise<Reply> {
    const send = (all = args): Promise<Reply> =>
      this.#scripts.run<Reply>(SCRIPTS[name], namedKeys(keys, key), all, read);
    if (!PUBLISHING.has(name)) return send();
    // Without a wait if possible: commands go out in the order of the calls.
    if (this.how !== undefined) return send([...args, this.how]);
    return this.decide(keys[0]!).then((how) => send([...args, how]));
  }

  /** Resolves to whether the owner held the lock. Warns once if waiters do not receive the message of a release. */
  async release(key: string, keys: readonly string[], args: ReadonlyArray<string | number>): Promise<boolean> {
    const [released, unheard] = await this.run(key, 'release', keys, args, readReleaseReply);
    if (unheard !== null && !this.hasWarned) {
      this.hasWarned = true;
      this.logger.warn(unheardWarning(unheard, this.isSharded));
    }
    return released;
  }

  /**
   * Decides how to publish, once, as Redisson does when it connects.
   * @param key any key in Redis that this client may use
   */
  async decide(key: string): Promise<Publishing> {
    if (this.how === undefined) {
      const isSharded = await this.#scripts.run(SCRIPTS.isSharded, namedKeys([key]), [], flag);
      this.how ??= isSharded ? 'sharded' : 'plain';
    }
    return this.how;
  }
}

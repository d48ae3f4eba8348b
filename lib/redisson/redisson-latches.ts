import { LockConfigError } from '../errors/index.js';
import type { CountDownReply, LatchCount, LatchStore, SetCountRequest } from '../store/latch-store.js';
import { LONGEST_HEARING } from '../store/redis/connected-store.js';
import type { Connection } from '../store/redis/redis-connection.js';
import { readCountDownReply } from '../store/redis/redis-latches.js';
import { flag, natural } from '../store/redis/reply-readers.js';
import { LACKING_FEATURES } from './lacking-features.js';
import { latchChannel, latchOf } from './redisson-names.js';
import type { RedissonScripts } from './redisson-scripts.js';

/** For how many ms Redis remembers a call that has had its effect, in case the command arrives again. */
const MEMORY = 600_000;
/** The name of a latch that this client has not set. Redisson gives it none. */
const UNNAMED = 'latch';

/** The message that a latch has opened. Another one says that it is closed again. */
const OPEN = '0';

/** A latch that this client waits for. */
interface Awaited {
  readonly key: string;
  /** Its name towards the engine. */
  readonly latch: string;
  /** When the wait ends, by `performance.now()`. */
  readonly until: number;
}

/** Keeps `RCountDownLatch`es: integers without a TTL. The script that counts one to 0 deletes it. */
export class RedissonLatches implements LatchStore {
  /** By channel, in the order in which the waits end. */
  private readonly awaited = new Map<string, Awaited>();
  // Private, because it knows the connection and its password: code that prints a latch must not reach them.
  readonly #connection: Connection;

  constructor(
    private readonly scripts: RedissonScripts,
    connection: Connection,
    /** Names the latch of a key. */
    private readonly nameOf: (key: string) => string,
    private readonly opened: (key: string, latch: string) => void,
  ) {
    this.#connection = connection;
  }

  setCount({ key, id, count }: SetCountRequest): Promise<boolean> {
    const name = this.nameOf(key);
    return this.scripts.run(key, 'latchSet', [name, latchOf(name, id)], [count, latchChannel(name), MEMORY], flag);
  }

  countDown(key: string, id: string): Promise<CountDownReply> {
    const name = this.nameOf(key);
    const args = [latchChannel(name), MEMORY];
    return this.scripts.run(key, 'latchCountDown', [name, latchOf(name, id)], args, readCountDownReply);
  }

  async count(key: string, patience: number, seen: readonly string[]): Promise<LatchCount> {
    const name = this.nameOf(key);
    const channel = latchChannel(name);
    // The engine names the latest latch last. Earlier ones are gone.
    const latch = seen.at(-1) ?? UNNAMED;
    if (patience > 0) {
      await this.scripts.decide(name);
      const { subscriptions } = this.#connection;
      if (!(await subscriptions.subscribeTo(channel, patience, LONGEST_HEARING))) {
        const later = subscriptions.subscribeTo(channel, patience, patience);
        // The latch may open before the subscription.
        void later.then((stands) => stands && this.heard(channel, OPEN));
      }
      // Before the request is sent: the message may arrive before the reply.
      this.expect(channel, { key, latch, until: performance.now() + patience });
    }
    const left = await this.read(key);
    // Redisson takes a latch that is gone for open, whatever has become of it.
    return left === 0 ? { left, latch: '', opened: seen } : { left, latch, opened: seen.slice(0, -1) };
  }

  delete(): Promise<boolean> {
    return Promise.reject(new LockConfigError(LACKING_FEATURES.latchDelete!));
  }

  replicate(): Promise<number> {
    return Promise.reject(new LockConfigError(LACKING_FEATURES.replicas!));
  }

  /** A message may be about an earlier latch, so the latch is read again. */
  heard(channel: string, message: string): void {
    const awaited = this.awaited.get(channel);
    if (awaited === undefined || message !== OPEN) return;
    this.read(awaited.key).then(
      (left) => left === 0 && this.opened(awaited.key, awaited.latch),
      // The engine asks again within some seconds.
      () => undefined,
    );
  }

  private expect(channel: string, awaited: Awaited): void {
    this.awaited.delete(channel);
    this.awaited.set(channel, awaited);
    for (const [oldest, { until }] of this.awaited) {
      if (until > performance.now()) break;
      this.awaited.delete(oldest);
    }
  }

  private read(key: string): Promise<number> {
    return this.scripts.run(key, 'latchCount', [this.nameOf(key)], [], natural);
  }
}

import type { AcquireOptions, LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { LockServices } from '../../lab/testbed/locks/lock-services.js';
import { RespProxy, startRedis, type RedisServer, eventually } from '../../lab/testbed/locks/locks.js';
import { RedissonProcess } from '../../lab/testbed/workers/redisson-process.mjs';

export const VERSIONS = ['3.52.0', '4.7.0'];

/** All sections of `npm run test:redisson`, or a tenth of them in the short form. */
export const isFull = process.env['REDISSON_FULL'] === '1';
/** A busy machine may stop either watchdog for some time. */
export const LEASE = 3_000;
/** How much later than it could, in ms, something may happen on a busy machine: less than the lease of 30 s. */
export const LATE = 15_000;

/** A Redis, a JVM with Redisson, and services of this library, for one test after the other. */
export class Sides {
  redis!: RedisServer;
  java!: RedissonProcess;
  private readonly services = new LockServices();
  private readonly ends: Array<() => unknown> = [];

  constructor(private readonly version: string) {}

  /** A JVM of a single test, with leases that the test can wait for. */
  async short(): Promise<RedissonProcess> {
    const process = await RedissonProcess.start(this.version, this.redis.url, LEASE);
    this.ends.push(() => process.kill());
    return process;
  }

  /** A proxy of a single test. */
  async proxy(): Promise<RespProxy> {
    const proxy = await RespProxy.start(this.redis);
    this.ends.push(
      () => proxy.heal(),
      () => proxy.disconnect(),
    );
    return proxy;
  }

  /** Adds 1 to a counter so often: it reads, then writes. Without exclusion, updates get lost. */
  async count(locks: LockService, key: string, times: number, options: AcquireOptions): Promise<void> {
    const { admin } = this.redis;
    for (let i = 0; i < times; i++) {
      const section = async () => admin.set('counter', Number((await admin.get('counter')) ?? 0) + 1);
      await locks.run(key, section, options);
    }
  }

  service(options: RedisLockModuleOptions = {}): Promise<LockService> {
    return this.services.start({ connection: this.redis.url, protocol: redisson(), ...options });
  }

  async subscribersOf(channel: string): Promise<number> {
    return Number((await this.redis.admin.pubsub('NUMSUB', channel))[1]);
  }

  async endTest(): Promise<void> {
    for (const end of this.ends.splice(0)) await end();
    await this.services.closeAll();
    await this.redis.admin.flushall();
  }
}

export const median = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;

export interface WakeUps {
  readonly key: string;
  /** The name of the lock in Redisson; by default the same. */
  readonly javaKey?: string;
  readonly rounds: number;
  /** How many clients of both sides listen for the lock. */
  readonly listening: () => Promise<number>;
}

/** The medians of the times in ms that each side, this one first, takes to be woken by a release of the other. */
export async function wakeUps(
  locks: LockService,
  java: RedissonProcess,
  { key, javaKey = key, rounds, listening }: WakeUps,
): Promise<[number, number]> {
  const [ours, theirs]: number[][] = [[], []];
  const until = (isTrue: (count: number) => boolean): Promise<unknown> =>
    eventually(async () => isTrue(await listening()), { within: 4 * LATE });
  let contended = 0;
  locks.events.subscribe(({ type }) => {
    if (type === 'contended') contended += 1;
  });
  for (let i = 0; i < rounds; i++) {
    await java.on('a')('lock', javaKey, -1);
    const waiting = locks.acquire(key, { waitTimeout: 4 * LATE });
    await eventually(() => contended === i + 1, { within: LATE });
    await until((count) => count === 1);
    const from = performance.now();
    await java.on('a')('unlock', javaKey);
    const lock = await waiting;
    ours!.push(performance.now() - from);
    const javaWaits = java.on('b')('lock', javaKey, -1);
    await until((count) => count === 2);
    const released = performance.now();
    await lock.release();
    await javaWaits;
    theirs!.push(performance.now() - released);
    await java.on('b')('unlock', javaKey);
    // This library stays subscribed for some seconds.
    await until((count) => count < 2);
  }
  return [median(ours!), median(theirs!)];
}

/** The same tests beside each version of Redisson. */
export function besideRedisson(tests: (sides: Sides, version: string) => void): void {
  describe.each(VERSIONS)('beside Redisson %s', (version) => {
    const sides = new Sides(version);
    beforeAll(async () => {
      sides.redis = await startRedis();
      sides.java = await RedissonProcess.start(version, sides.redis.url);
    });
    afterEach(() => sides.endTest());
    afterAll(async () => {
      await sides.java?.kill();
      await sides.redis.stop();
    });
    tests(sides, version);
  });
}

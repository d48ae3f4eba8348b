import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import { createLockClient } from 'nestjs-redis-locks/client';
import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { RedissonProcess } from '../../lab/testbed/workers/redisson-process.mjs';

export const VERSIONS = ['3.52.0', '4.7.0'];

/** All sections of `npm run test:redisson`, or a tenth of them in the short form. */
export const isFull = process.env['REDISSON_FULL'] === '1';
/** A busy machine may stop either watchdog for some time. */
export const LEASE = 3_000;
/** How much later than it could, in ms, something may happen on a busy machine: less than the lease of 30 s. */
export const LATE = 15_000;

export const quiet = { debug() {}, log() {}, warn() {}, error() {} };

/** A Redis, a JVM with Redisson, and services of this library, for one test after the other. */
export class Sides {
  redis!: RedisServer;
  java!: RedissonProcess;
  private readonly services: LockService[] = [];

  async service(options: RedisLockModuleOptions = {}): Promise<LockService> {
    const given = { connection: this.redis.url, protocol: redisson(), shutdownTimeout: 0, ...options };
    const locks = await createLockClient(given, { logger: quiet });
    this.services.push(locks);
    return locks;
  }

  async subscribersOf(channel: string): Promise<number> {
    return Number((await this.redis.admin.pubsub('NUMSUB', channel))[1]);
  }

  async closeServices(): Promise<void> {
    await Promise.all(this.services.splice(0).map((locks) => locks.close()));
  }
}

/** The same tests beside each version of Redisson. */
export function besideRedisson(tests: (sides: Sides, version: string) => void): void {
  describe.each(VERSIONS)('beside Redisson %s', (version) => {
    const sides = new Sides();
    beforeAll(async () => {
      sides.redis = await startRedis();
      sides.java = await RedissonProcess.start(version, sides.redis.url);
    });
    afterEach(async () => {
      await sides.closeServices();
      await sides.redis.admin.flushall();
    });
    afterAll(async () => {
      await sides.java?.kill();
      await sides.redis.stop();
    });
    tests(sides, version);
  });
}

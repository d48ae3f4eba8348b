import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { LockServices } from '../../lab/testbed/locks/lock-services.js';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
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

  service(options: RedisLockModuleOptions = {}): Promise<LockService> {
    return this.services.start({ connection: this.redis.url, protocol: redisson(), ...options });
  }

  async subscribersOf(channel: string): Promise<number> {
    return Number((await this.redis.admin.pubsub('NUMSUB', channel))[1]);
  }

  closeServices(): Promise<void> {
    return this.services.closeAll();
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

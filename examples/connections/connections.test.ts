import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getQueueToken } from '@nestjs/bullmq';
import { Cache } from '@nestjs/cache-manager';
import type { INestApplication, Type } from '@nestjs/common';
import { ThrottlerStorage } from '@nestjs/throttler';
import type { ClientProxy } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { getRedisConnectionToken } from '@nestjs-modules/ioredis';
import { RedisService } from '@songkeys/nestjs-redis';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { LockService } from 'nestjs-redis-locks';
import { createLockClient } from 'nestjs-redis-locks/client';
import { REDIS_URL } from '../support/accounts.js';
import { BullmqModule } from './bullmq.module.js';
import { CacheManagerModule } from './cache-manager.module.js';
import { MicroservicesModule, TRANSPORT } from './microservices.module.js';
import { NestjsModulesIoredisModule } from './nestjs-modules-ioredis.module.js';
import { Reports } from './reports.js';
import { SongkeysNestjsRedisModule } from './songkeys-nestjs-redis.module.js';
import { ThrottlerStorageRedisModule } from './throttler-storage-redis.module.js';

interface Example {
  readonly name: string;
  readonly module: Type;
  readonly prepare?: (app: INestApplication) => Promise<unknown>;
  /** Uses the connection of the package. */
  readonly use: (app: INestApplication) => unknown;
  /** Starts a call that runs while the application closes: by default, of the method itself. */
  readonly call?: (app: INestApplication, id: string) => unknown;
}

const EXAMPLES: readonly Example[] = [
  {
    name: '@nestjs-modules/ioredis',
    module: NestjsModulesIoredisModule,
    use: (app) => app.get<Redis>(getRedisConnectionToken(), { strict: false }).ping(),
  },
  {
    name: '@songkeys/nestjs-redis',
    module: SongkeysNestjsRedisModule,
    use: (app) => app.get(RedisService, { strict: false }).getClient().ping(),
  },
  {
    name: '@nest-lab/throttler-storage-redis',
    module: ThrottlerStorageRedisModule,
    use: (app) => app.get<ThrottlerStorage>(ThrottlerStorage, { strict: false }).increment('k', 1_000, 5, 0, 'default'),
  },
  {
    name: '@nestjs/cache-manager with @keyv/redis',
    module: CacheManagerModule,
    use: (app) => app.get(Cache, { strict: false }).set('k', 'v'),
  },
  {
    name: '@nestjs/bullmq',
    module: BullmqModule,
    use: (app) => app.get<Queue>(getQueueToken('reports'), { strict: false }).count(),
    call: (app, id) => app.get<Queue>(getQueueToken('reports'), { strict: false }).add('report', id),
  },
  {
    name: '@nestjs/microservices over Redis',
    module: MicroservicesModule,
    prepare: async (app) => {
      app.connectMicroservice(TRANSPORT);
      await app.startAllMicroservices();
    },
    use: (app) => app.get<ClientProxy>('REPORTS', { strict: false }).connect(),
    call: (app, id) =>
      app
        .get<ClientProxy>('REPORTS', { strict: false })
        .send('report', id)
        .subscribe({ error() {} }),
  },
];

/** No close should take longer: leases are longer. */
const SOON = 10_000;

describe('locks beside a package that has a connection', () => {
  for (const { name, module, prepare, use, call = write } of EXAMPLES) {
    it(`${name}: app.close() waits for a running call, and its keys are free at once`, async () => {
      const complaints: unknown[] = [];
      // The transport of a microservice closes first, and says that it cannot send the reply of the running call.
      const note = (...words: unknown[]): void => void (words.at(-1) === 'Server' || complaints.push(words));
      const logger = { log() {}, warn: note, error: note, fatal: note };
      const app = (await Test.createTestingModule({ imports: [module] }).compile()).createNestApplication({ logger });
      await prepare?.(app);
      await app.init();
      const other = await createLockClient({ connection: REDIS_URL });
      try {
        await use(app);
        const id = `${process.pid}-${module.name}`;
        const reports = app.get(Reports, { strict: false });
        const held = await app.get(LockService, { strict: false }).acquire(`held:${id}`);
        void call(app, id);
        await reports.begun;
        assert.ok(!(await other.tryAcquire(`report:${id}`)));

        const began = performance.now();
        const closing = app.close();
        reports.complete();
        await reports.ended;
        assert.equal(held.isHeld, true);
        assert.equal(await held.release(), true);
        await closing;
        assert.ok(performance.now() - began < SOON);
        for (const key of [`held:${id}`, `report:${id}`]) {
          const lock = await other.tryAcquire(key);
          assert.ok(lock, `${key} is free`);
          await lock.release();
        }
        assert.deepEqual(complaints, []);
      } finally {
        await other.close();
      }
    });
  }
});

function write(app: INestApplication, id: string): void {
  void app.get(Reports, { strict: false }).write(id);
}

import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { DistributedLock, LockService, RedisLockModule } from 'nestjs-redis-locks';
import { AT_ONCE } from '../../../lab/testbed/locks/locks.js';
import { redisKey } from '../../../lab/testbed/locks/redis-key.mjs';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { Work } from './support.js';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

@Injectable()
class Jobs {
  readonly work = new Work<string>();

  @DistributedLock('job')
  run(): Promise<string> {
    return this.work.run();
  }
}

/** A module of the application that has a connection and closes it early, as the queue of BullMQ does. */
function connectionModule(open: () => object, close: (client: never) => unknown) {
  const client = open();

  @Module({ providers: [{ provide: 'REDIS', useValue: client }], exports: ['REDIS'] })
  class ConnectionModule implements OnModuleDestroy {
    async onModuleDestroy(): Promise<void> {
      await close(client as never);
    }
  }
  return ConnectionModule;
}

it.each([
  [
    'ioredis',
    () =>
      connectionModule(
        () => redis.client(),
        (client: Redis) => client.quit(),
      ),
  ],
  [
    'node-redis',
    () =>
      connectionModule(
        () => createClient({ url: redis.url }),
        (client: ReturnType<typeof createClient>) => client.isOpen && client.close(),
      ),
  ],
  [
    'node-redis, which is connected and destroyed',
    () =>
      connectionModule(
        () => {
          const client = createClient({ url: redis.url });
          client.on('error', () => undefined);
          void client.connect();
          return client;
        },
        (client: ReturnType<typeof createClient>) => client.destroy(),
      ),
  ],
])('with the connection of the application, app.close() frees the keys at once: %s', async (_client, prepare) => {
  const connections = prepare();
  const testing = Test.createTestingModule({
    imports: [
      connections,
      RedisLockModule.forRootAsync({
        imports: [connections],
        inject: ['REDIS'],
        useFactory: (connection: Redis) => ({ connection, shutdownTimeout: '10s' }),
      }),
    ],
    providers: [Jobs],
  });
  const app = await (await testing.compile()).createNestApplication().init();
  const jobs = app.get(Jobs);
  const held = await app.get(LockService).acquire('held');
  const result = jobs.run();
  await jobs.work.begun;
  const closing = app.close();
  jobs.work.end.resolve('done');
  expect(await result).toBe('done');
  expect(await held.release()).toBe(true);
  const began = performance.now();
  await closing;
  expect(performance.now() - began).toBeLessThan(AT_ONCE);
  expect(await redis.admin.exists(redisKey('state', 'held'), redisKey('state', 'job'))).toBe(0);
});

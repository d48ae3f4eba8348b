import { expectAllKeysHaveTtl, expectNothingLeft } from '../../../lab/testbed/history/leaks.mjs';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

describe('leaks', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis.stop());

  beforeEach(() => redis.admin.flushall());

  it('are locks, queues and waiters', async () => {
    await redis.admin.set('lock:fence:{a}', 1, 'PX', 60_000);
    await redis.admin.set('other', 1);
    await expectNothingLeft(redis.admin);
    await redis.admin.hset('lock:state:{a}', 'owner', 1);
    await redis.admin.zadd('lock:queue:{a}', 1, 'waiter');
    await expect(expectNothingLeft(redis.admin)).rejects.toThrow('left in Redis: lock:queue:{a}, lock:state:{a}');
  });

  it('are keys without a TTL', async () => {
    await redis.admin.set('lock:fence:{a}', 1, 'PX', 60_000);
    await redis.admin.set('other', 1);
    await expectAllKeysHaveTtl(redis.admin);
    await redis.admin.set('lock:fence:{b}', 1);
    await expect(expectAllKeysHaveTtl(redis.admin)).rejects.toThrow('without a TTL: lock:fence:{b}');
  });
});

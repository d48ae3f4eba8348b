import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

const bench = new LockBench();
let replica: RedisServer;
beforeAll(async () => {
  await bench.redis.admin.config('SET', 'repl-diskless-sync-delay', '0');
  replica = await startRedis({ args: ['--replicaof', bench.redis.host, String(bench.redis.port)] });
  await eventually(async () => (await bench.redis.admin.info('replication')).includes('state=online'), {
    within: 10_000,
  });
  await bench.redis.admin.set('lock:probe', '1', 'PX', 60_000);
  await eventually(async () => (await bench.redis.admin.wait(1, 100)) === 1, { within: 10_000 });
});
afterAll(() => replica.stop());

it('the time for replicas of the first of two free keys is added to waitTimeout', async () => {
  const service = await bench.service();
  await replica.pause();
  setTimeout(() => void replica.resume(), 600);
  const lock = await service.acquire(['a', 'b'], { waitTimeout: 300, replicas: { min: 1, timeout: 5_000 } });
  expect(await lock.release()).toBe(true);
});

it('replicas are counted even if ioredis returns numbers as strings', async () => {
  const { host, port } = bench.redis;
  const service = await bench.service({ connection: { host, port, stringNumbers: true } });
  const lock = await service.acquire('a', { replicas: { min: 1, timeout: 2_000 } });
  expect(await lock.release()).toBe(true);
});

it('an abort during the wait for replicas takes effect at once, and nothing is kept', async () => {
  const service = await bench.service();
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('enough')), 100);
  const { error, ran } = await timed(() =>
    service.acquire('a', { replicas: { min: 2, timeout: 2_000 }, signal: controller.signal }),
  );
  expect(error).toBe(controller.signal.reason);
  expect(ran).toBeLessThan(1_500);
  await bench.untilNothingIsLeft();
});

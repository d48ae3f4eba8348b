import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { RedisConnection } from '../../../lib/store/redis/redis-connection.js';
import { IoredisLines } from '../../../lib/store/redis/ioredis-lines.js';
import type { LastingLine } from '../../../lib/store/redis/lasting-line.js';
import type { Socket } from 'node:net';
import { AT_ONCE, LockBench, redisKey, timed } from '../../../lab/testbed/locks/locks.js';
import { eventually, throughout } from '../../../lab/testbed/wait/eventually.mjs';
import { startWorker } from '../../../lab/testbed/workers/processes.mjs';
import { startRedis } from '../../../lab/testbed/servers/redis-server.mjs';
import { RespProxy, type ConnectionFilter } from '../../../lab/testbed/proxies/resp-proxy.mjs';

const ASKING: ConnectionFilter = ({ isSubscriber }) => !isSubscriber;

const WORKER = new URL('../../../lab/testbed/workers/closing-worker.mjs', import.meta.url);

const bench = new LockBench({ records: true, leavesNothing: true });

it('OOM does not end the wait of a call that has a place in the queue', async () => {
  const proxy = await bench.proxy();
  const holder = await bench.service();
  // It asks again three times a second.
  const waiter = await bench.service({ connection: proxy.url, grantTimeout: 250 });
  const lock = await holder.acquire('a');
  const waiting = timed(waiter.acquire('a'));
  await bench.untilWaiting('a', 1);
  await bench.redis.admin.config('SET', 'maxmemory', '1');
  await expect(bench.redis.admin.set('more', 'data')).rejects.toThrow('OOM');
  await proxy.seen({ names: ['evalsha'], nth: 2 });
  expect(await lock.release()).toBe(true);
  const { value: next, error } = await waiting;
  expect(error).toBeUndefined();
  expect(next!.fencingToken).toBeGreaterThan(lock.fencingToken);
  expect(await next!.release()).toBe(true);
  await bench.redis.admin.config('SET', 'maxmemory', '0');
});

it.each([
  ['while Redis is there', async () => undefined],
  ['when Redis has just gone', () => bench.redis.kill()],
  [
    'after an outage of Redis',
    async (connected: () => Promise<boolean>) => {
      await bench.redis.kill();
      await eventually(async () => !(await connected()));
    },
  ],
])('a process whose service was closed exits at once by itself %s, with holders and waiters', async (_, prepare) => {
  await using worker = await startWorker(WORKER, { args: [bench.redis.url] });
  await prepare(async () => {
    worker.send({ ask: 'connected' });
    return (await worker.next(({ event }) => event === 'connected'))['value'] as boolean;
  });
  worker.send({ ask: 'close' });
  await worker.next(({ event }) => event === 'closed');
  const { value: exit, ran } = await timed(worker.exited);
  expect(exit).toEqual({ code: 0, signal: null });
  expect(ran).toBeLessThan(AT_ONCE);
});

it('a holder whose connection the server has dropped renews on a new one before its lease ends', async () => {
  const proxy = await bench.proxy();
  const LEASE = 4_000;
  const service = await bench.service({ connection: proxy.url, commandTimeout: 400, renewedLease: LEASE });
  const lock = await service.acquire('a');
  proxy.goDeaf(ASKING, { serverNotices: true });
  await throughout(LEASE + 500, () => lock.isHeld);
  await lock.verify();
  expect(bench.told('lost')).toEqual([]);
  expect(await lock.release()).toBe(true);
});

it('a release that is sent again after an outage keeps the key until its holdAtLeast is over, and no longer', async () => {
  const proxy = await bench.proxy();
  const [LEAST, OUTAGE] = [4_000, 2_000];
  const service = await bench.service({ connection: proxy.url, commandTimeout: '10s' });
  const before = performance.now();
  const lock = await service.acquire('a', { holdAtLeast: LEAST });
  proxy.disconnect();
  const released = lock.release();
  await sleep(OUTAGE);
  await proxy.restore();
  expect(await released).toBe(true);
  const [ttl, elapsed] = [await bench.redis.admin.pttl(redisKey('state', 'a')), performance.now() - before];
  expect(elapsed).toBeLessThan(LEAST);
  expect(ttl).toBeGreaterThan(0);
  expect(elapsed + ttl).toBeLessThan(LEAST + AT_ONCE);
});

it('a call that fails in a long outage leaves no lock behind if Redis restarts with its data', async () => {
  await using server = await startRedis({ persistent: true });
  await using proxy = await RespProxy.start(server);
  const TIMEOUT = 400;
  const service = await bench.service({ connection: proxy.url, commandTimeout: TIMEOUT });
  await service.run('a', () => undefined);
  const { happened: executed } = proxy.cutAfterCommand({ names: ['evalsha'] });
  const acquiring = timed(service.acquire('a', { expire: '5m' }));
  await executed;
  proxy.disconnect();
  await server.kill();
  expect((await acquiring).error.code).toBe('LOCK_STORE');
  // So long that the commands which wait for the connection have failed.
  await sleep(4 * TIMEOUT);
  await server.start();
  expect(await server.admin.exists(redisKey('state', 'a'))).toBe(1);
  await proxy.restore();
  await eventually(async () => (await server.admin.exists(redisKey('state', 'a'))) === 0);
});

it('a connection that is closed twice is closed once', async () => {
  const logger = { debug() {}, log() {}, warn() {}, error() {} };
  const observer = { restored() {}, message() {} };
  const options = { connection: bench.redis.url, keyPrefix: 'lock', clientId: 'me', commandTimeout: 1_000 };
  const connection = new RedisConnection(options, logger, observer);
  await connection.start();
  const line = jest.spyOn((connection.commands as LastingLine).line!, 'close');
  connection.close();
  connection.close();
  connection.close();
  expect(line).toHaveBeenCalledTimes(1);
});

it('a line that is closed many times in one turn adds one listener to its socket', async () => {
  const line = new IoredisLines(bench.redis.url, { commandTimeout: 1_000 }).open({});
  await line.opened;
  const { stream } = (line as unknown as { client: { stream: Socket } }).client;
  const before = stream.listenerCount('close');
  for (let i = 0; i < 20; i++) line.close(true);
  expect(stream.listenerCount('close')).toBe(before + 1);
  expect(stream.destroyed).toBe(true);
});

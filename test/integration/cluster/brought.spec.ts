import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { DistributedLock, LockService, RedisLockModule } from 'nestjs-redis-locks';
import { Section } from '../nest/support.js';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { COMMANDS, IN_CLUSTER } from '../../../lab/testbed/servers/least-privilege.js';

const bench = new ClusterBench();

describe('a Cluster client that the application passes in', () => {
  it('works beside a client of the library, and stays open', async () => {
    const client = bench.cluster.client({ scaleReads: 'all' });
    await client.ping();
    const listeners = (): number => client.eventNames().reduce((sum, name) => sum + client.listenerCount(name), 0);
    const before = listeners();
    const [brought, own] = [await bench.service({ connection: client }), await bench.service()];
    for (const [first, second] of [
      [brought, own],
      [own, brought],
    ]) {
      const lock = await first!.acquire('a');
      const waiting = second!.acquire('a');
      await bench.untilWaiting('a', 1);
      const since = performance.now();
      await lock.release();
      await (await waiting).release();
      expect(performance.now() - since).toBeLessThan(2_500);
    }
    await brought.close();
    expect(await client.get('still there')).toBeNull();
    expect(client.status).toBe('ready');
    expect(listeners()).toBe(before);
    await bench.untilNothingIsLeft();
  });

  it('adds its keyPrefix to no key of a lock', async () => {
    const connection = bench.cluster.client({ keyPrefix: 'app:' });
    const service = await bench.service({ connection, keyPrefix: 'app:lock' });
    const lock = await service.acquire('a');
    expect(await bench.cluster.admin.exists('app:lock:state:{a}')).toBe(1);
    await expect(service.acquire('b', { replicas: { min: 1, timeout: 50 } })).rejects.toThrow('0 of at least 1');
    await lock.release();
  });

  it('sends scripts to a node that does not know them, even after too many redirections', async () => {
    const client = bench.cluster.client({ maxRedirections: 0 });
    for (const { admin } of bench.cluster.nodes) await admin.script('FLUSH');
    const service = await bench.service({ connection: client });
    for (const key of await bench.cluster.keysOnAllMasters('flushed', 3)) {
      expect(await (await service.acquire(key)).release()).toBe(true);
    }
    await bench.untilNothingIsLeft();
  });

  it('serves an application with an unreachable node in its list', async () => {
    @Injectable()
    class Stock {
      readonly section = new Section();

      @DistributedLock({ key: 'stock:#sku' })
      reserve(sku: string): Promise<number> {
        expect(sku).toBe('x');
        return this.section.pass();
      }
    }
    const cluster = [{ host: '127.0.0.1', port: 1 }, ...bench.cluster.addresses];
    const app = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot({ connection: { cluster } })],
      providers: [Stock],
    })
      .setLogger({ log() {}, warn() {}, error() {}, debug() {} })
      .compile();
    await app.init();
    const stock = app.get(Stock);
    await Promise.all(Array.from({ length: 10 }, () => stock.reserve('x')));
    expect(stock.section).toMatchObject({ most: 1, entries: 10 });
    expect(await (await app.get(LockService).acquire('y')).release()).toBe(true);
    await app.close();
    await bench.untilNothingIsLeft();
  });

  it('needs only the documented permissions', async () => {
    const commands = [...COMMANDS, ...IN_CLUSTER].map((command) => `+${command}`);
    const rules = ['on', '>secret', '~lock:*', 'resetchannels', '&lock:client:*', ...commands];
    for (const { admin } of bench.cluster.nodes) {
      await admin.acl('SETUSER', 'locks', ...rules);
      await admin.acl('LOG', 'RESET');
    }
    const redisOptions = { username: 'locks', password: 'secret' };
    const connection = { cluster: bench.cluster.addresses, options: { redisOptions } };
    const [one, other] = await bench.serviceList(2, { connection });
    const lock = await one!.acquire('a');
    const waiting = other!.acquire('a');
    await bench.untilWaiting('a', 1);
    await lock.release();
    expect(await other!.forceRelease((await waiting).key)).toBe(true);
    const latch = one!.getCountDownLatch('b');
    await latch.trySetCount(1);
    const opened = other!.getCountDownLatch('b').await();
    await latch.countDown();
    expect(await opened).toBe(true);
    const refused = await Promise.all(
      bench.cluster.nodes.map(async ({ admin }) =>
        ((await admin.acl('LOG')) as unknown[][]).map((entry) => String(entry[entry.indexOf('object') + 1])),
      ),
    );
    // A telling name for the connection, which ioredis does without when it may not give one.
    expect(refused.flat().filter((what) => !what.startsWith('client|'))).toEqual([]);
  });

  it('is not accepted as a Redlock master, nor are its nodes', async () => {
    const refusal = (connection: unknown): Promise<unknown> => bench.service({ connection: connection as string[] });
    const own = bench.cluster.nodes.map(({ url }) => url);
    await expect(refusal(own)).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    const message = expect.stringContaining('connection[2] is a Cluster');
    for (const each of [bench.cluster.client(), { cluster: bench.cluster.addresses }]) {
      await expect(refusal([...own.slice(0, 2), each])).rejects.toMatchObject({ code: 'LOCK_CONFIG', message });
    }
  });
});

import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { redisKey } from '../../../lab/testbed/locks/redis-key.mjs';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

describe('a client that the application passes in', () => {
  const bench = new LockBench();

  it.each<[string, (own: Redis) => unknown]>([
    ['has opened a MULTI', (own) => (own.multi({ pipeline: false }), own.set('x', 1))],
    ['has selected another database', (own) => own.select(3)],
    ['has subscribed', (own) => own.subscribe('news')],
    ['has turned replies off', (own) => void own.call('CLIENT', 'REPLY', 'OFF').catch(() => undefined)],
    ['waits in a blocking command', (own) => void own.blpop('no list', 0).catch(() => undefined)],
    ['was closed with quit', (own) => own.quit()],
    ['was closed with disconnect', (own) => own.disconnect()],
  ])('takes no part in locks: it %s', async (_what, change) => {
    const own = bench.redis.client();
    const other = await bench.service();
    const locks = await bench.service({ connection: own });
    const lock = await other.acquire('k');
    await change(own);
    expect(await locks.tryAcquire('k')).toBeNull();
    expect(await locks.getSemaphore('permits', { permits: 1 }).tryAcquire()).not.toBeNull();
    const waiting = locks.acquire('k');
    await bench.untilWaiting('k', 1);
    await lock.release();
    const granted = await waiting;
    expect(await other.tryAcquire('k')).toBeNull();
    expect(await granted.release()).toBe(true);
    const both = await locks.acquire(['x', 'y']);
    expect(await both.release()).toBe(true);
    own.disconnect();
  });

  it('names the database in its options: SELECT before or after changes nothing', async () => {
    const own = bench.redis.client({ db: 2 });
    await own.select(3);
    const lock = await (await bench.service({ connection: own })).acquire('k');
    const admin = bench.redis.client({ db: 2 });
    expect(await admin.exists(redisKey('state', 'k'))).toBe(1);
    expect(await lock.release()).toBe(true);
  });

  it('lends its address and its login, and none of the options that change commands or replies', async () => {
    await bench.redis.admin.acl('SETUSER', 'app', 'on', '>secret', '+@all', '~*', '&*');
    const own = bench.redis.client({
      username: 'app',
      password: 'secret',
      connectionName: 'mine',
      enableAutoPipelining: true,
      stringNumbers: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: 1,
      retryStrategy: () => null,
    });
    const locks = await bench.service({ connection: own });
    const lock = await locks.acquire('k');
    expect(typeof lock.fencingToken).toBe('number');
    await bench.redis.admin.client('KILL', 'USER', 'app');
    expect(await lock.release()).toBe(true);
    // The release needs one connection; the other one, of the subscriber, may still be on its way.
    await eventually(async () => {
      const list = String(await bench.redis.admin.client('LIST'));
      return list.split('\n').filter((line) => /user=app/.test(line) && / name=mine /.test(line)).length === 2;
    });
  });

  it('is neither written to nor connected', async () => {
    const own = bench.redis.client({ lazyConnect: true });
    const locks = await bench.service({ connection: own });
    await locks.run('k', () => undefined);
    await locks.close();
    expect(own.status).toBe('wait');
    expect(own.eventNames().filter((name) => name !== 'error')).toEqual([]);
  });
});

describe('a Cluster that the application passes in', () => {
  const bench = new ClusterBench({ replicas: 1 });

  it('may pipeline commands by itself', async () => {
    const own = bench.cluster.client({ enableAutoPipelining: true });
    const locks = await bench.service({ connection: own, renewedLease: '6s' });
    const keys = Array.from({ length: 100 }, (_, i) => `key ${i}`);
    const held = await Promise.all(keys.map((key) => locks.acquire(key)));
    await Promise.all(held.map((lock) => lock.verify()));
    expect(await Promise.all(held.map((lock) => lock.release()))).toEqual(keys.map(() => true));
  });

  it('may return numbers as texts, also across a failover', async () => {
    const own = bench.cluster.client({ redisOptions: { stringNumbers: true } });
    const locks = await bench.service({ connection: own });
    const [key] = await bench.cluster.keysOnAllMasters('k', 1);
    await (await locks.acquire(key!)).release();
    const master = await bench.cluster.masterOf(key!);
    const replica = await bench.cluster.replicaOf(master);
    // The other masters may refuse a vote for some seconds.
    await replica.admin.cluster('FAILOVER', 'TAKEOVER');
    await eventually(() => replica.isMaster());
    const since = performance.now();
    await (await locks.acquire(key!)).release();
    expect(performance.now() - since).toBeLessThan(4_000);
  });

  it('may be closed while locks are held', async () => {
    const own = bench.cluster.client({ scaleReads: 'slave' });
    const locks = await bench.service({ connection: own });
    const lock = await locks.acquire('k');
    await own.quit();
    expect(await locks.tryAcquire('k')).toBeNull();
    expect(await lock.release()).toBe(true);
    await eventually(async () => (await bench.cluster.admin.exists(redisKey('state', 'k'))) === 0);
  });
});

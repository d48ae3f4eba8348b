import type { Redis } from 'ioredis';
import { createClient, RESP_TYPES, type RedisClientType, createCluster } from 'redis';
import { exchange } from './support.js';
import { LockBench, redisKey, eventually, lockError } from '../../../lab/testbed/locks/locks.js';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import type { LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import { hashSlot } from '../../../lib/keys/index.js';

const bench = new LockBench();

type ClientOptions = NonNullable<Parameters<typeof createClient>[0]>;

/** A connected client of node-redis. */
async function connected(options: ClientOptions = {}): Promise<ReturnType<typeof createClient>> {
  const own = createClient({ url: bench.redis.url, ...options });
  own.on('error', () => undefined);
  bench.endLater({
    [Symbol.asyncDispose]: async () => {
      if (own.isOpen) own.destroy();
    },
  });
  await own.connect();
  return own;
}

describe('a client of either library that the application passes in', () => {
  it.each<[string, () => Promise<LockConnectionOption & { select(database: number): Promise<unknown> }>]>([
    ['ioredis', async () => bench.redis.client({ db: 2 })],
    ['node-redis', () => connected({ database: 2 })],
  ])('names the database in its options: SELECT before or after changes nothing (%s)', async (_library, open) => {
    const own = await open();
    await own.select(3);
    const lock = await (await bench.service({ connection: own })).acquire('k');
    const admin = bench.redis.client({ db: 2 });
    expect(await admin.exists(redisKey('state', 'k'))).toBe(1);
    expect(await lock.release()).toBe(true);
  });

  const login = { username: 'app', password: 'secret' };
  const unsuitable = {
    ...{ enableAutoPipelining: true, stringNumbers: true, enableOfflineQueue: false, maxRetriesPerRequest: 0 },
    ...{ autoResendUnfulfilledCommands: false, commandTimeout: 1, retryStrategy: () => null },
  };

  it.each<[string, () => object]>([
    [
      'ioredis, and none of the options that change commands or replies',
      () => bench.redis.client({ ...login, connectionName: 'mine', ...unsuitable }),
    ],
    ['node-redis', () => createClient({ url: bench.redis.url, ...login, name: 'mine' })],
  ])('lends its address, its login and its name: %s', async (_library, open) => {
    await bench.redis.admin.acl('SETUSER', 'app', 'on', '>secret', '+@all', '~*', '&*');
    const lock = await (await bench.service({ connection: open() })).acquire('k');
    expect(typeof lock.fencingToken).toBe('number');
    await bench.redis.admin.client('KILL', 'USER', 'app');
    expect(await lock.release()).toBe(true);
    // The release needs one connection; the other one, of the subscriber, may still be on its way.
    await eventually(async () => {
      const list = String(await bench.redis.admin.client('LIST'));
      return list.split('\n').filter((line) => /user=app/.test(line) && / name=mine /.test(line)).length === 2;
    });
  });
});

describe('a client that the application passes in', () => {
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
    await exchange(bench, own, { change: () => change(own) });
    own.disconnect();
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

const cluster = new ClusterBench({ replicas: 1 });

describe('a Cluster that the application passes in', () => {
  it('may pipeline commands by itself', async () => {
    const own = cluster.cluster.client({ enableAutoPipelining: true });
    const locks = await cluster.service({ connection: own, renewedLease: '6s' });
    const keys = Array.from({ length: 100 }, (_, i) => `key ${i}`);
    const held = await Promise.all(keys.map((key) => locks.acquire(key)));
    await Promise.all(held.map((lock) => lock.verify()));
    expect(await Promise.all(held.map((lock) => lock.release()))).toEqual(keys.map(() => true));
  });

  it('may return numbers as texts, also across a failover', async () => {
    const own = cluster.cluster.client({ redisOptions: { stringNumbers: true } });
    const locks = await cluster.service({ connection: own });
    const [key] = await cluster.cluster.keysOnAllMasters('k', 1);
    await (await locks.acquire(key!)).release();
    const master = await cluster.cluster.masterOf(key!);
    const replica = await cluster.cluster.replicaOf(master);
    // The other masters may refuse a vote for some seconds.
    await replica.admin.cluster('FAILOVER', 'TAKEOVER');
    await eventually(() => replica.isMaster());
    const since = performance.now();
    await (await locks.acquire(key!)).release();
    expect(performance.now() - since).toBeLessThan(4_000);
  });

  it('may be closed while locks are held', async () => {
    const own = cluster.cluster.client({ scaleReads: 'slave' });
    const locks = await cluster.service({ connection: own });
    const lock = await locks.acquire('k');
    await own.quit();
    expect(await locks.tryAcquire('k')).toBeNull();
    expect(await lock.release()).toBe(true);
    await eventually(async () => (await cluster.cluster.admin.exists(redisKey('state', 'k'))) === 0);
  });
});

describe('a client of node-redis that the application passes in', () => {
  it.each<[string, (own: RedisClientType) => unknown]>([
    ['has opened a MULTI', (own) => void own.multi().set('x', 1)],
    ['watches a key', (own) => own.watch('x')],
    ['has selected another database', (own) => own.select(3)],
    ['has subscribed', (own) => own.subscribe('news', () => undefined)],
    ['waits in a blocking command', (own) => void own.blPop('no list', 0).catch(() => undefined)],
    ['was closed', (own) => own.close()],
    ['was destroyed', (own) => own.destroy()],
  ])('takes no part in locks: it %s', async (_what, change) => {
    const own = await connected();
    await change(own as unknown as RedisClientType);
    await exchange(bench, own);
  });

  it.each<[string, ClientOptions]>([
    ['disableOfflineQueue', { disableOfflineQueue: true }],
    ['commandsQueueMaxLength', { commandsQueueMaxLength: 1 }],
    ['no reconnects', { socket: { reconnectStrategy: false } }],
    ['a socketTimeout', { socket: { socketTimeout: 50 } }],
    ['RESP 3', { RESP: 3 }],
    ['a client-side cache', { RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0, evictPolicy: 'LRU' } }],
    ['pings', { pingInterval: 5 }],
    ['read-only mode', { readonly: true }],
    ['command options', { commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } }],
  ])('lends its address, and none of the options that change commands or replies: %s', async (_what, options) => {
    await exchange(bench, createClient({ url: bench.redis.url, ...options }));
  });

  it('may have a type mapping of its own', async () => {
    const own = createClient({ url: bench.redis.url });
    await exchange(bench, own.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String }));
  });

  it('is neither written to nor connected, and needs no error listener', async () => {
    const own = createClient({ url: bench.redis.url });
    const locks = await bench.service({ connection: own });
    await locks.run('k', () => undefined);
    await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
    await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await locks.run('k', () => undefined);
    await locks.close();
    expect(own.isOpen).toBe(false);
    expect(own.eventNames()).toEqual([]);
  });

  it('is refused at the start if the server refuses its database', async () => {
    const connection = createClient({ url: bench.redis.url, database: 99 });
    await expect(bench.service({ connection })).rejects.toEqual(
      lockError('LOCK_CONFIG', 'Redis refuses database 99 of connection'),
    );
  });

  it('is refused at the start if the server refuses its login, without the password', async () => {
    const connection = createClient({ url: bench.redis.url, username: 'nobody', password: 'a wrong secret' });
    const refused = bench.make({ connection, commandTimeout: 1_000 }).start();
    await expect(refused).rejects.toEqual(
      lockError('LOCK_STORE', 'the user or password in `connection` is missing or wrong'),
    );
    await expect(refused).rejects.not.toThrow(/wrong secret/);
  });

  it('takes its credentials from a provider, for each connection', async () => {
    await bench.redis.admin.acl('SETUSER', 'app', 'on', '>first', '+@all', '~*', '&*');
    let password = 'first';
    const credentials = async () => ({ username: 'app', password });
    const connection = createClient({
      url: bench.redis.url,
      credentialsProvider: { type: 'async-credentials-provider', credentials },
    });
    const locks = await bench.service({ connection });
    const lock = await locks.acquire('k');
    await bench.redis.admin.acl('SETUSER', 'app', 'resetpass', '>second');
    password = 'second';
    await bench.redis.admin.client('KILL', 'USER', 'app');
    expect(await lock.release()).toBe(true);
  });
});

type Options = NonNullable<Parameters<typeof createCluster>[0]>;

describe('a Cluster client of node-redis that the application passes in', () => {
  const client = (options: Partial<Options> = {}): ReturnType<typeof createCluster> => {
    const rootNodes = cluster.cluster.addresses.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
    return createCluster({ rootNodes, ...options });
  };

  const exchangeOnAll = async (connection: object): Promise<void> =>
    exchange(cluster, connection, { keys: await cluster.cluster.keysOnAllMasters('k', 1) });

  it.each<[string, Partial<Options>]>([
    ['RESP 2', { RESP: 2 }],
    ['RESP 3', { RESP: 3 }],
    ['a client-side cache', { RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0, evictPolicy: 'LRU' } }],
    ['reads from replicas', { useReplicas: true, minimizeConnections: true }],
    ['no redirections', { maxCommandRedirections: 0 }],
    ['a database', { defaults: { database: 3 } }],
    ['options of its nodes', { defaults: { disableOfflineQueue: true, commandsQueueMaxLength: 1, pingInterval: 5 } }],
    ['command options', { commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } }],
  ])('lends its addresses, and none of the options that change commands or replies: %s', async (_what, options) => {
    await exchangeOnAll(client(options));
  });

  it('is neither written to nor connected, and needs no error listener', async () => {
    const own = client();
    const listeners = own.eventNames();
    await exchangeOnAll(own);
    expect(own.isOpen).toBe(false);
    expect(own.eventNames()).toEqual(listeners);
  });

  it.each<[string, (own: ReturnType<typeof createCluster>) => unknown]>([
    ['is connected', () => undefined],
    ['has opened a MULTI', (own) => void own.multi().set('x', '1')],
    ['has subscribed', (own) => own.sSubscribe('news', () => undefined)],
    ['was closed', (own) => own.close()],
    ['was destroyed', (own) => own.destroy()],
  ])('takes no part in locks: it %s', async (_what, change) => {
    const own = client();
    own.on('error', () => undefined);
    await own.connect();
    await change(own);
    await exchangeOnAll(own);
    if (own.isOpen) own.destroy();
  });

  it('lends its login, and no error shows it', async () => {
    for (const { admin } of cluster.cluster.nodes) {
      await admin.acl('SETUSER', 'app', 'on', '>a certain secret', '+@all', '~*', '&*');
    }
    await exchangeOnAll(client({ defaults: { username: 'app', password: 'a certain secret' } }));
    const connection = client({ defaults: { username: 'app', password: 'a wrong secret' } });
    const refused = cluster.make({ connection, commandTimeout: 1_000 }).start();
    await expect(refused).rejects.toEqual(lockError('LOCK_STORE', 'WRONGPASS'));
    await expect(refused).rejects.not.toThrow(/wrong secret/);
  });

  it('follows channels whose slots move while others are subscribed to', async () => {
    const connection = client();
    const [holder, waiter] = [await cluster.service(), await cluster.service({ connection })];
    const keys = Array.from({ length: 40 }, (_, i) => `moves-${i}`);
    const holds = await Promise.all(keys.map((key) => holder.acquire(key)));
    // Moving slots takes long on a busy machine.
    const waiting = keys.map((key) => waiter.acquire(key, { waitTimeout: '2m' }));
    await Promise.all(keys.map((key) => cluster.untilWaiting(key, 1)));
    // Subscriptions and their ends are under way all the time.
    const done = new AbortController();
    const busy = (async () => {
      for (let i = 0; !done.signal.aborted; i++) {
        const hold = await holder.acquire(`busy-${i}`);
        const next = waiter.acquire(`busy-${i}`);
        await cluster.untilWaiting(`busy-${i}`, 1);
        await hold.release();
        await (await next).release();
      }
    })();
    const slots = new Set(keys.map((key) => hashSlot(`lock:state:{${key}}`)));
    let moved = 0;
    await cluster.cluster.reshard({ moving: (some) => void (moved += some.filter((slot) => slots.has(slot)).length) });
    done.abort();
    await busy;
    expect(moved).toBeGreaterThan(0);
    await Promise.all(holds.map((hold) => hold.release()));
    await eventually(async () => (await Promise.all(waiting)).every(({ isHeld }) => isHeld));
    await Promise.all((await Promise.all(waiting)).map((lock) => lock.release()));
    await cluster.untilNothingIsLeft();
  });
});

it.each([
  ['a server', createClient({ url: 'redis://127.0.0.1:1' })],
  ['a Cluster', createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] })],
])('a client of node-redis for %s that cannot be reached is reported', async (_what, connection) => {
  await expect(bench.make({ connection, commandTimeout: 300 }).start()).rejects.toEqual(
    lockError('LOCK_STORE', 'ECONNREFUSED'),
  );
});

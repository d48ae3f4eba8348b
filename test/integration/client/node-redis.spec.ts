import { describe, expect, it } from '@jest/globals';
import { createClient, RESP_TYPES, type RedisClientType } from 'redis';
import { LockServices } from '../../../lab/testbed/locks/lock-services.js';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { redisKey } from '../../../lab/testbed/locks/redis-key.mjs';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

type Options = NonNullable<Parameters<typeof createClient>[0]>;

describe('a client of node-redis that the application passes in', () => {
  const bench = new LockBench();

  /** A connected client. */
  async function connected(options: Options = {}): Promise<ReturnType<typeof createClient>> {
    const own = createClient({ url: bench.redis.url, ...options });
    own.on('error', () => undefined);
    await own.connect();
    return own;
  }

  /** Acquires, waits, is granted and releases with locks over `connection`, against another client. */
  async function exchange(connection: object): Promise<void> {
    const other = await bench.service();
    const locks = await bench.service({ connection });
    const lock = await other.acquire('k');
    expect(await locks.tryAcquire('k')).toBeNull();
    const waiting = locks.acquire('k');
    await bench.untilWaiting('k', 1);
    await lock.release();
    const granted = await waiting;
    expect(granted.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await other.tryAcquire('k')).toBeNull();
    expect(await granted.release()).toBe(true);
    const both = await locks.acquire(['x', 'y']);
    expect(await both.release()).toBe(true);
    expect((await locks.inspect('k'))?.holders ?? []).toEqual([]);
  }

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
    await exchange(own);
    if (own.isOpen) own.destroy();
  });

  it.each<[string, Options]>([
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
    await exchange(createClient({ url: bench.redis.url, ...options }));
  });

  it('may have a type mapping of its own', async () => {
    const own = createClient({ url: bench.redis.url });
    await exchange(own.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String }));
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

  it('lends its login and its name', async () => {
    await bench.redis.admin.acl('SETUSER', 'app', 'on', '>secret', '+@all', '~*', '&*');
    const own = createClient({ url: bench.redis.url, username: 'app', password: 'secret', name: 'mine' });
    const locks = await bench.service({ connection: own });
    const lock = await locks.acquire('k');
    const lines = async (): Promise<number> => {
      const list = String(await bench.redis.admin.client('LIST'));
      return list.split('\n').filter((line) => /user=app/.test(line) && / name=mine /.test(line)).length;
    };
    await eventually(async () => (await lines()) === 2);
    await bench.redis.admin.client('KILL', 'USER', 'app');
    expect(await lock.release()).toBe(true);
  });

  it('names the database in its options: SELECT before or after changes nothing', async () => {
    const own = await connected({ database: 2 });
    await own.select(3);
    const lock = await (await bench.service({ connection: own })).acquire('k');
    own.destroy();
    const admin = bench.redis.client({ db: 2 });
    expect(await admin.exists(redisKey('state', 'k'))).toBe(1);
    expect(await lock.release()).toBe(true);
  });

  it('is refused at the start if the server refuses its database', async () => {
    const connection = createClient({ url: bench.redis.url, database: 99 });
    await expect(bench.service({ connection })).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining('Redis refuses database 99 of connection'),
    });
  });

  it('is refused at the start if the server refuses its login, without the password', async () => {
    const connection = createClient({ url: bench.redis.url, username: 'nobody', password: 'a wrong secret' });
    const refused = bench.service({ connection });
    await expect(refused).rejects.toMatchObject({
      code: 'LOCK_STORE',
      message: expect.stringContaining('the user or password in `connection` is missing or wrong'),
    });
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

  it('reports a server that cannot be reached', async () => {
    const connection = createClient({ url: 'redis://127.0.0.1:1' });
    const services = new LockServices();
    await expect(services.make({ connection, commandTimeout: 300 }).start()).rejects.toMatchObject({
      code: 'LOCK_STORE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await services.closeAll();
  });
});

import { describe, expect, it } from '@jest/globals';
import { createCluster, RESP_TYPES } from 'redis';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { LockServices } from '../../../lab/testbed/locks/lock-services.js';
import { hashSlot } from '../../../lib/keys/index.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

type Options = NonNullable<Parameters<typeof createCluster>[0]>;

describe('a Cluster client of node-redis that the application passes in', () => {
  const bench = new ClusterBench();

  const client = (options: Partial<Options> = {}): ReturnType<typeof createCluster> => {
    const rootNodes = bench.cluster.addresses.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
    return createCluster({ rootNodes, ...options });
  };

  /** Acquires, waits, is granted and releases with locks over `connection`, against another client, at each master. */
  async function exchange(connection: object): Promise<void> {
    const [other, locks] = [await bench.service(), await bench.service({ connection })];
    for (const key of await bench.cluster.keysOnAllMasters('k', 1)) {
      const lock = await other.acquire(key);
      expect(await locks.tryAcquire(key)).toBeNull();
      const waiting = locks.acquire(key);
      await bench.untilWaiting(key, 1);
      await lock.release();
      const granted = await waiting;
      expect(granted.fencingToken).toBeGreaterThan(lock.fencingToken);
      expect(await other.tryAcquire(key)).toBeNull();
      expect(await granted.release()).toBe(true);
    }
    const both = await locks.acquire(['x', 'y']);
    expect(await both.release()).toBe(true);
  }

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
    await exchange(client(options));
  });

  it('is neither written to nor connected, and needs no error listener', async () => {
    const own = client();
    const listeners = own.eventNames();
    await exchange(own);
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
    await exchange(own);
    if (own.isOpen) own.destroy();
  });

  it('lends its login, and no error shows it', async () => {
    for (const { admin } of bench.cluster.nodes) {
      await admin.acl('SETUSER', 'app', 'on', '>a certain secret', '+@all', '~*', '&*');
    }
    await exchange(client({ defaults: { username: 'app', password: 'a certain secret' } }));
    const refused = bench.service({
      connection: client({ defaults: { username: 'app', password: 'a wrong secret' } }),
    });
    await expect(refused).rejects.toMatchObject({ code: 'LOCK_STORE', message: expect.stringContaining('WRONGPASS') });
    await expect(refused).rejects.not.toThrow(/wrong secret/);
  });

  it('reports a Cluster that cannot be reached', async () => {
    const services = new LockServices();
    const connection = createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] });
    await expect(services.make({ connection, commandTimeout: 300 }).start()).rejects.toMatchObject({
      code: 'LOCK_STORE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await services.closeAll();
  });

  it('follows channels whose slots move while others are subscribed to', async () => {
    const connection = client();
    const [holder, waiter] = [await bench.service(), await bench.service({ connection })];
    const keys = Array.from({ length: 40 }, (_, i) => `moves-${i}`);
    const holds = await Promise.all(keys.map((key) => holder.acquire(key)));
    // Moving slots takes long on a busy machine.
    const waiting = keys.map((key) => waiter.acquire(key, { waitTimeout: '2m' }));
    await Promise.all(keys.map((key) => bench.untilWaiting(key, 1)));
    // Subscriptions and their ends are under way all the time.
    const done = new AbortController();
    const busy = (async () => {
      for (let i = 0; !done.signal.aborted; i++) {
        const hold = await holder.acquire(`busy-${i}`);
        const next = waiter.acquire(`busy-${i}`);
        await bench.untilWaiting(`busy-${i}`, 1);
        await hold.release();
        await (await next).release();
      }
    })();
    const slots = new Set(keys.map((key) => hashSlot(`lock:state:{${key}}`)));
    let moved = 0;
    await bench.cluster.reshard({ moving: (some) => void (moved += some.filter((slot) => slots.has(slot)).length) });
    done.abort();
    await busy;
    expect(moved).toBeGreaterThan(0);
    await Promise.all(holds.map((hold) => hold.release()));
    await eventually(async () => (await Promise.all(waiting)).every(({ isHeld }) => isHeld));
    await Promise.all((await Promise.all(waiting)).map((lock) => lock.release()));
    await bench.untilNothingIsLeft();
  });
});

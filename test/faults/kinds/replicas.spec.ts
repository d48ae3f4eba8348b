import { startReplica, untilFollowing } from '../../../lab/testbed/locks/replica-bench.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { now } from '../../../lab/testbed/history/history.js';
import { AT_ONCE, between, LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import type { RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { KINDS } from '../../integration/kinds/support.js';
import { holdIds } from '../../../lab/testbed/locks/redis-key.mjs';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

const bench = new LockBench();
let replica: RedisServer;
let service: LockService;

const REPLICAS = { replicas: { min: 1, timeout: 600 } };
const TIMEOUT = REPLICAS.replicas.timeout;

beforeAll(async () => {
  replica = await startReplica(bench.redis);
});
afterAll(() => replica.stop());
beforeEach(async () => {
  service = await bench.service();
});

/** Runs `work` while the replica says nothing. */
async function withoutReplica<T>(work: () => Promise<T>): Promise<T> {
  await replica.pause();
  try {
    return await work();
  } finally {
    await replica.resume();
    await untilFollowing(bench.redis);
  }
}

const held = (key: string): Promise<number> => bench.redis.admin.exists(`lock:state:{${key}}`);
const onReplica = async (key: string): Promise<number> => (await holdIds(replica.admin, `lock:state:{${key}}`)).length;

/** How many WAITs Redis has executed so far. */
const waits = (): Promise<number> => bench.calls('wait');

describe('replicas: { min: 1 } with a replica', () => {
  it.each(KINDS)('grants the lock when the replica has it: $kind', async ({ options }) => {
    const before = await waits();
    const lock = await service.acquire('a', { ...options, ...REPLICAS });
    expect(await onReplica('a')).toBe(1);
    expect((await waits()) - before).toBe(1);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('fails and releases the lock if the replica does not follow', async () => {
    await withoutReplica(async () => {
      const { error, took, ran } = await timed(() => service.acquire('a', REPLICAS));
      expect(error).toEqual(lockError('LOCK_STORE', 'replicas', { key: 'a' }));
      expect(took).toBeGreaterThan(TIMEOUT - 5);
      expect(ran).toBeLessThan(TIMEOUT + AT_ONCE);
      expect(await held('a')).toBe(0);
      // A caller that does not ask for replicas is not affected.
      await (await service.acquire('a')).release();
    });
    await (await service.acquire('a', REPLICAS)).release();
  });

  it('makes verify() wait for the replica: a master that is cut off from it confirms nothing', async () => {
    const lock = await service.acquire('a', REPLICAS);
    await lock.verify();
    await withoutReplica(async () => {
      const { error, took, ran } = await timed(() => lock.verify());
      expect(error).toEqual(lockError('LOCK_STORE', 'replicas', { key: 'a' }));
      expect(took).toBeGreaterThan(TIMEOUT - 5);
      expect(ran).toBeLessThan(TIMEOUT + AT_ONCE);
      // It has not been lost, as far as the client knows.
      expect(lock.isHeld).toBe(true);
    });
    await lock.verify();
    await service.forceRelease('a');
    await expect(lock.verify()).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('makes verify() of several keys wait for the replica of each', async () => {
    const lock = await service.acquire(['a', 'b'], REPLICAS);
    await withoutReplica(() => expect(lock.verify()).rejects.toMatchObject({ code: 'LOCK_STORE' }));
    await lock.verify();
    await lock.release();
  });

  it('applies to every lock through defaults.replicas', async () => {
    const service = await bench.service({ defaults: REPLICAS });
    await service.run('a', async () => expect(await onReplica('a')).toBe(1));
    await withoutReplica(async () => {
      await expect(service.run('a', () => 'never')).rejects.toMatchObject({ code: 'LOCK_STORE' });
      await expect(service.getLock('a').tryLock()).rejects.toMatchObject({ code: 'LOCK_STORE' });
    });
  });

  it('also confirms a pushed grant', async () => {
    const [holder, waiter, third] = await bench.serviceList(3);
    const { lock, waiting } = await bench.contended(holder, waiter, REPLICAS);
    const before = await waits();
    await lock.release();
    const second = await waiting;
    expect([await waits(), await onReplica('a')]).toEqual([before + 1, 1]);

    const refused = timed(() => third.acquire('a', REPLICAS));
    await bench.untilWaiting('a', 1);
    await withoutReplica(async () => {
      const last = holder.acquire('a');
      await bench.untilWaiting('a', 2);
      const released = now();
      await second.release();
      expect((await refused).error).toMatchObject({ code: 'LOCK_STORE' });
      // Released to the next waiter, which does not ask for replicas.
      expect((await last).isHeld).toBe(true);
      expect(between(released)).toBeLessThan(TIMEOUT + AT_ONCE);
    });
  });

  it('shares a WAIT among concurrent calls', async () => {
    const services = await bench.serviceList(2);
    const keys = Array.from({ length: 50 }, (_, i) => `key:${i}`);
    await services[0].run('warm', () => undefined, REPLICAS);
    await services[1].run('warm', () => undefined, REPLICAS);
    const before = await waits();
    const locks = await Promise.all(keys.map((key, i) => services[i % 2]!.acquire(key, REPLICAS)));
    expect((await waits()) - before).toBeLessThanOrEqual(10);
    for (const key of keys) expect(await onReplica(key)).toBe(1);
    await Promise.all(locks.map((lock) => lock.release()));
    await withoutReplica(async () => {
      const since = now();
      const outcomes = await Promise.all(keys.map((key) => timed(() => services[0].acquire(key, REPLICAS))));
      expect(outcomes.every(({ error }) => error?.code === 'LOCK_STORE')).toBe(true);
      expect(between(since)).toBeLessThan(2 * TIMEOUT + AT_ONCE);
    });
    await bench.untilNothingIsLeft();
  });

  it('ends each wait for replicas at its own timeout, whatever others request', async () => {
    await service.run('warm', () => undefined, REPLICAS);
    await withoutReplica(async () => {
      const others = [timed(() => service.acquire('a', { replicas: { min: 1, timeout: '2s' } }))];
      await eventually(() => held('a'));
      others.push(timed(() => service.acquire('b', { replicas: { min: 1, timeout: '2s' } })));
      const mine = await timed(() => service.acquire('c', { replicas: { min: 1, timeout: 300 } }));
      expect(mine.error).toMatchObject({ code: 'LOCK_STORE', key: 'c' });
      expect(mine.ran).toBeLessThan(300 + AT_ONCE);
      const same = await timed(() => service.acquire('d', REPLICAS));
      expect(same.error).toMatchObject({ code: 'LOCK_STORE', key: 'd' });
      expect(same.ran).toBeLessThan(TIMEOUT + AT_ONCE);
      for (const { error } of await Promise.all(others)) expect(error).toMatchObject({ code: 'LOCK_STORE' });
    });
  });

  it('asks once with a timeout of 0, and blocks no other call', async () => {
    const service = await bench.service({ commandTimeout: 1_000 });
    await withoutReplica(async () => {
      const { error, ran } = await timed(() => service.acquire('a', { replicas: { min: 1, timeout: 0 } }));
      expect(error).toEqual(lockError('LOCK_STORE', '0 of at least 1'));
      expect(ran).toBeLessThan(AT_ONCE);
    });
    await (await service.acquire('a', REPLICAS)).release();
  });

  it('confirms nothing if the connection breaks during the wait', async () => {
    const { proxy, service } = await bench.proxied();
    await service.run('warm', () => undefined, REPLICAS);
    await withoutReplica(async () => {
      const waiting = timed(() => service.acquire('a', { replicas: { min: 1, timeout: '1s' } }));
      await proxy.seen({ names: ['wait'], nth: 3 });
      proxy.cutAll();
      // A WAIT on the next connection, which has written nothing, would say that all is well.
      expect((await waiting).error).toMatchObject({ code: 'LOCK_STORE' });
    });
    await (await service.acquire('b', REPLICAS)).release();
    await eventually(async () => !(await held('a')));
  });

  it('does not make a call wait for others that request more replicas', async () => {
    await service.run('warm', () => undefined, REPLICAS);
    const more = timed(() => service.acquire('a', { replicas: { min: 2, timeout: '2s' } }));
    await eventually(() => held('a'));
    const { value, ran } = await timed(() => service.acquire('b', { replicas: { min: 1, timeout: '2s' } }));
    expect(value!.isHeld).toBe(true);
    expect(ran).toBeLessThan(AT_ONCE);
    expect((await more).error).toMatchObject({ code: 'LOCK_STORE' });
  });

  it('needs no confirmation for a re-entry, and its WAIT delays no other command of the client', async () => {
    await service.run(
      'a',
      async () => {
        const before = await waits();
        await service.run('a', () => undefined, REPLICAS);
        expect(await waits()).toBe(before);
      },
      REPLICAS,
    );
    await withoutReplica(async () => {
      const waiting = timed(() => service.acquire('a', { replicas: { min: 1, timeout: '4s' } }));
      await eventually(() => held('a'));
      const { ran } = await timed(() => service.run('b', () => undefined));
      expect(ran).toBeLessThan(2_000);
      await waiting;
    });
  });

  it('confirms all of several keys, or none is held', async () => {
    const set = await service.acquire(['a', 'b', 'c'], REPLICAS);
    for (const key of set.keys) expect(await onReplica(key)).toBe(1);
    await set.release();
    await withoutReplica(async () => {
      const { error } = await timed(() => service.acquire(['a', 'b', 'c'], { ...REPLICAS, holdAtLeast: '10s' }));
      expect(error).toMatchObject({ code: 'LOCK_STORE' });
      for (const key of ['a', 'b', 'c']) expect(await held(key)).toBe(0);
    });
  });

  it('does not return a lock whose lease ended during the wait', async () => {
    await replica.pause();
    const acquiring = timed(() => service.acquire('a', { expire: 500, replicas: { min: 1, timeout: '5s' } }));
    await eventually(async () => (await waits()) > 0 && (await held('a')));
    await eventually(async () => !(await held('a')));
    await replica.resume();
    await untilFollowing(bench.redis);
    const { value, error } = await acquiring;
    expect([value, error?.code]).toEqual([undefined, 'LOCK_LOST']);
  });
});

describe('replicas: failures of either server', () => {
  it('a replica that takes over knows the lock', async () => {
    const lock = await service.acquire('a', { ...REPLICAS, kind: 'read' });
    await replica.admin.call('REPLICAOF', 'NO', 'ONE');
    try {
      const promoted = await bench.service({ connection: replica.url });
      expect((await promoted.inspect('a'))!.holders).toMatchObject([{ kind: 'read', fencingToken: lock.fencingToken }]);
      expect(await promoted.tryAcquire('a', { kind: 'write' })).toBeNull();
      const beside = await promoted.acquire('a', { kind: 'read' });
      expect(beside.fencingToken).toBeGreaterThan(lock.fencingToken);
    } finally {
      await replica.admin.call('REPLICAOF', bench.redis.host, String(bench.redis.port));
      await untilFollowing(bench.redis);
    }
  });

  it('a Redis that goes away during the wait: the error names the key', async () => {
    const { proxy, service } = await bench.proxied({ commandTimeout: 500 });
    await withoutReplica(async () => {
      const waiting = timed(() => service.acquire('a', REPLICAS));
      await eventually(() => held('a'));
      proxy.disconnect();
      expect((await waiting).error).toMatchObject({ code: 'LOCK_STORE', key: 'a', transient: true });
      await proxy.restore();
    });
    await eventually(async () => !(await held('a')), { within: 10_000 });
  });
});

it('the time for replicas of the first of two free keys is added to waitTimeout', async () => {
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
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('enough')), 100);
  const { error, ran } = await timed(() =>
    service.acquire('a', { replicas: { min: 2, timeout: 2_000 }, signal: controller.signal }),
  );
  expect(error).toBe(controller.signal.reason);
  expect(ran).toBeLessThan(1_500);
  await bench.untilNothingIsLeft();
});

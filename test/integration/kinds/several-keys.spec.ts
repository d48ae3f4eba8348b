import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { now } from '../../../lab/testbed/history/history.js';
import { AT_ONCE, between, LockBench, record, timed } from '../../../lab/testbed/locks/locks.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

const bench = new LockBench();
/** Nothing falls due by itself while a test counts. */
const QUIET = { renewedLease: '10m', grantTimeout: '10m' } as const;

/** Which of the keys are held, as Redis sees it. */
async function held(...keys: string[]): Promise<string[]> {
  const exists = await Promise.all(keys.map((key) => bench.redis.admin.exists(`lock:state:{${key}}`)));
  return keys.filter((_, i) => exists[i] === 1);
}

describe('several keys', () => {
  it('are all held by one handle, in the order in which they were named, each once', async () => {
    const [one, other] = await bench.pair();
    const set = await one.acquire(['c', 'a', 'b', 'a', 'c']);
    expect(set).toMatchObject({ key: 'c', keys: ['c', 'a', 'b'], isHeld: true, holdCount: 1 });
    expect([...set.fencingTokens.keys()]).toEqual(['c', 'a', 'b']);
    expect(set.fencingToken).toBe(set.fencingTokens.get('c'));
    for (const key of set.keys) expect(await other.tryAcquire(key)).toBeNull();
    for (const [key, token] of set.fencingTokens) expect((await other.inspect(key))!.fencingToken).toBe(token);
    await set.verify();
    expect(await set.release()).toBe(true);
    expect(set).toMatchObject({ isHeld: false, holdCount: 0 });
    await bench.untilNothingIsLeft();
  });

  // One step of Lua takes fewer than 8,000 values, and each lock has 7 keys in Redis.
  it.each([20, 1_500])('cost one round trip and one script if they are free: %i keys', async (count) => {
    const service = await bench.service(QUIET);
    await (await service.acquire(['warm', 'up'])).release();
    await bench.redis.resetCommandStats();
    const set = await service.acquire(Array.from({ length: count }, (_, i) => `key:${i}`));
    const { evalsha, eval: byText, publish } = await bench.redis.commandStats();
    expect([evalsha, byText, publish]).toEqual([1, undefined, undefined]);
    expect(set.isHeld).toBe(true);
    await bench.redis.resetCommandStats();
    await set.release();
    expect(await bench.calls()).toBeLessThanOrEqual(count);
  });

  it('name the first ones in an error, and how many more there are', async () => {
    const far = await bench.proxy();
    const service = await bench.service({ connection: far.url, commandTimeout: 1_000 });
    await service.tryAcquire('warm');
    const keys = Array.from({ length: 1_500 }, (_, i) => `key:${i}`);
    const named = "'key:0', 'key:1', 'key:2', 'key:3', 'key:4' and 1495 more";
    await expect(service.getMultiLock(keys).unlock()).rejects.toMatchObject({
      message: expect.stringContaining(`this Lock object of ${named} cannot unlock`),
    });
    far.delay({ request: 4_000 });
    await expect(service.acquire(keys, { waitTimeout: 0 })).rejects.toEqual(
      lockError('LOCK_STORE', `Redis has not answered yet whether ${named} are free`),
    );
  });

  it.each([
    ['two keys, 100 ms away', ['a', 'b'], 100],
    ['12 keys, 20 ms away', Array.from({ length: 11 }, (_, i) => `a:${i}`).concat('b'), 20],
  ])('one try reports %s as contended, not Redis as failed', async (_, keys, distance) => {
    const far = await bench.proxy();
    const [holder, service] = [await bench.service(), await bench.service({ connection: far.url })];
    await holder.acquire('b');
    await service.tryAcquire(keys);
    far.delay({ request: distance / 2, reply: distance / 2 });
    let failed = 0;
    for (let tries = 0; tries < 12; tries++) {
      const outcome = await service.tryAcquire(keys).catch((error: { code: string }) => error.code);
      if (outcome === 'LOCK_STORE') failed += 1;
      else expect(outcome).toBeNull();
    }
    // On a busy machine some answers may take longer than the time for one.
    expect(failed).toBeLessThan(6);
    expect(await held('a', 'a:0')).toEqual([]);
  });

  it('a wait that ends before all answers are there has timed out if a key was held', async () => {
    const far = await bench.proxy();
    const [holder, service] = [await bench.service(), await bench.service({ connection: far.url })];
    await holder.acquire('b');
    await service.tryAcquire(['a', 'b']);
    far.delay({ request: 45, reply: 45 });
    let failed = 0;
    for (let tries = 0; tries < 6; tries++) {
      const { error } = await timed(() => service.acquire(['a', 'b'], { waitTimeout: 100 }));
      if ((error as { code?: string }).code === 'LOCK_STORE') failed += 1;
      else expect(error).toMatchObject({ code: 'LOCK_TIMEOUT' });
    }
    expect(failed).toBeLessThan(3);
  });

  it('a call that holds one key goes ahead of waiters for the next, and lets one of them pass each time', async () => {
    const [holder, ...others] = await bench.serviceList(7);
    const b = await holder!.acquire('b');
    const served: string[] = [];
    const work: Array<Promise<void>> = [];
    let waiting = 0;
    const begin = async (name: string, keys: string[]): Promise<void> => {
      work.push(others[waiting]!.run(keys, () => void served.push(name)));
      await bench.untilWaiting('b', (waiting += 1));
    };
    for (const name of ['first', 'second', 'third']) await begin(name, ['b']);
    for (const name of ['a', 'aa', 'aaa']) await begin(name, [name, 'b']);
    await b.release();
    await Promise.all(work);
    expect(served).toEqual(['first', 'a', 'second', 'aa', 'third', 'aaa']);
  });

  it('a call that holds one key does not go ahead while a fair request waits', async () => {
    const [holder, one, fair, several] = await bench.serviceList(4);
    const b = await holder.acquire('b');
    const served: string[] = [];
    const first = one.run('b', () => void served.push('one'));
    await bench.untilWaiting('b', 1);
    const second = fair.run('b', () => void served.push('fair'), { fair: true });
    await bench.untilWaiting('b', 2);
    const third = several.run(['a', 'b'], () => void served.push('several'));
    await bench.untilWaiting('b', 3);
    await b.release();
    await Promise.all([first, second, third]);
    expect(served).toEqual(['one', 'fair', 'several']);
  });

  it('share one waitTimeout', async () => {
    const [one, other] = await bench.pair();
    const a = await other.acquire('a', { expire: 400 });
    await other.acquire('b');
    const { error, took, ran } = await timed(() => one.acquire(['a', 'b'], { waitTimeout: 800 }));
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'b' });
    expect(took).toBeGreaterThan(795);
    expect(ran).toBeLessThan(800 + AT_ONCE);
    expect(a.isHeld).toBe(false);
    expect(await held('a')).toEqual([]);
  });

  it('are not kept for holdAtLeast after an abort halfway', async () => {
    const [one, other] = await bench.pair();
    await other.acquire('b');
    expect(await one.tryAcquire(['a', 'b'], { holdAtLeast: '10s' })).toBeNull();
    expect(await held('a')).toEqual([]);
    await expect(one.acquire(['a', 'b'], { holdAtLeast: '10s', waitTimeout: 60 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    expect(await held('a')).toEqual([]);
    expect(await other.tryAcquire('a')).not.toBeNull();
  });

  it('count holdAtLeast from the acquisition of the last key', async () => {
    const [one, other] = await bench.pair();
    await other.acquire('b', { expire: 600 });
    const set = await one.acquire(['a', 'b'], { holdAtLeast: 1_000 });
    const taken = now();
    await set.release();
    for (const key of ['a', 'b']) {
      const [holder] = (await other.inspect(key))!.holders;
      expect(holder).toMatchObject({ kept: true });
      expect(holder!.ttl).toBeGreaterThan(1_000 - between(taken) - 20);
    }
    await other.acquire(['b', 'a']);
    expect(between(taken)).toBeGreaterThan(995);
  });

  it('count a fixed expire from the acquisition of the last key', async () => {
    const [one, other] = await bench.pair();
    // Waits for longer than the lease.
    await other.acquire('b', { expire: 1_300 });
    const set = await one.acquire(['a', 'b'], { expire: 1_000 });
    for (const key of set.keys) {
      expect((await other.inspect(key))!.ttl).toBeGreaterThan(500);
      expect((await other.inspect(key))!.ttl).toBeLessThanOrEqual(1_000);
    }
    const left = set.remainingTime();
    expect(left).toBeGreaterThan(500);
    const { value: next, took, ran } = await timed(() => other.acquire(['b', 'a']));
    expect(took).toBeGreaterThanOrEqual(left);
    expect(ran).toBeLessThan(left + AT_ONCE);
    expect(set.isHeld).toBe(false);
    expect(next!.isHeld).toBe(true);
  });

  it('count maxRenewTimes from the acquisition of the last key', async () => {
    const [one, other] = await bench.pair({ renewedLease: 900 });
    const b = await other.acquire('b', { expire: '10s' });
    const waiting = one.acquire(['a', 'b'], { maxRenewTimes: 2 });
    await bench.untilWaiting('b', 1);
    const since = now();
    // The other key is renewed all the while: more often than those two times.
    await eventually(() => between(since) > 1_500);
    await b.release();
    const set = await waiting;
    const taken = now();
    await eventually(() => !set.isHeld);
    expect(between(taken)).toBeGreaterThan(900);
    expect(between(taken)).toBeLessThan(1_500 + AT_ONCE);
  });

  it('abort the signal once, as soon as one of them is lost', async () => {
    const [one, other] = await bench.pair();
    const losses: string[] = [];
    const set = await one.acquire(['a', 'b', 'c'], {
      onLost: (error, handle) => losses.push(`${error.key} ${handle === set}`),
    });
    const { signal } = set;
    await other.forceRelease('b');
    await eventually(() => signal.aborted);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', key: 'b' });
    expect(set).toMatchObject({ isHeld: false, holdCount: 0 });
    expect(set.remainingTime()).toBe(0);
    expect(() => set.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST', key: 'b' }));
    await expect(set.verify()).rejects.toMatchObject({ code: 'LOCK_LOST', key: 'b' });
    await other.forceRelease('c');
    expect(await set.release()).toBe(false);
    expect(await held('a', 'b', 'c')).toEqual([]);
    expect(losses).toEqual(['b true']);
  });

  it('get new leases by extend', async () => {
    const service = await bench.service();
    const set = await service.acquire(['a', 'b'], { expire: '1s' });
    await set.extend('20s');
    for (const key of set.keys) expect((await service.inspect(key))!.ttl).toBeGreaterThan(19_000);
    expect(set.remainingTime()).toBeGreaterThan(19_000);
  });

  it.each(['at once', 'one by one'])('have one owner if they are acquired %s', async (how) => {
    const [one, other] = await bench.pair();
    const first = await one.acquire(['b', 'a']);
    const waiting = how === 'at once' ? [] : [one, one, other].map((service) => service.acquire(['a', 'b', 'c']));
    if (waiting.length > 0) await bench.untilWaiting('a', 2);
    const look = async (held: LockHandle): Promise<void> => {
      const owners = held.keys.map(async (key) => (await other.inspect(key))!.owner);
      expect(new Set([held.owner, ...(await Promise.all(owners))]).size).toBe(1);
      expect(await other.getMultiLock(held.keys).isHeldBy(held.owner)).toBe(true);
      await held.release();
      for (const key of held.keys) expect(await other.getLock(key).isHeldBy(held.owner)).toBe(false);
    };
    await Promise.all([look(first), ...waiting.map((set) => set.then(look))]);
    await bench.untilNothingIsLeft();
  });

  it('have separate owners in siblings of a scope, which then wait for each other', async () => {
    const service = await bench.service();
    await service.run('a', async () => {
      const first = await service.acquire(['a', 'b', 'c']);
      expect(await service.tryAcquire(['a', 'b', 'c'])).toBeNull();
      const [b, c] = await Promise.all(['b', 'c'].map(async (key) => (await service.inspect(key))!.owner));
      expect(b).toBe(c);
      await first.release();
    });
    await bench.untilNothingIsLeft();
  });

  it('do not admit the next caller while one of them is still held', async () => {
    const service = await bench.service();
    const events = record(service);
    const first = await service.acquire('a');
    const [begun, end] = [deferred(), deferred()];
    let child: Promise<void> | undefined;
    const one = service.run(['a', 'b'], async () => {
      // It has re-entered one of the keys, and outlives the rest.
      child = service.run('b', async () => (begun.resolve(), end));
      await begun;
    });
    const other = service.acquire(['a', 'b']);
    await eventually(() => events.filter(({ type }) => type === 'contended').length === 2);
    await first.release();
    await one;
    await bench.untilWaiting('b', 1);
    end.resolve();
    await child;
    await (await other).release();
  });

  it('as permits of several semaphores', async () => {
    const [one, other] = await bench.pair();
    const options = { permits: 2 };
    await one.acquire(['a', 'b'], options);
    await other.acquire('b', options);
    expect(await other.tryAcquire(['a', 'b'], options)).toBeNull();
    expect(await other.getSemaphore('a', options).availablePermits()).toBe(1);
    expect(await other.getSemaphore('b', options).availablePermits()).toBe(0);
  });

  it('count as a single key in a list of one', async () => {
    const service = await bench.service();
    const handle = await service.acquire(['a']);
    expect(handle).toMatchObject({ key: 'a', keys: ['a'] });
    expect([...handle.fencingTokens]).toEqual([['a', handle.fencingToken]]);
  });
});

describe('permits of several keys', () => {
  it('are not released by releaseUnits of exclusive keys, nor of a handle that was released', async () => {
    const service = await bench.service();
    const exclusive = await service.acquire(['a', 'b']);
    await expect(exclusive.releaseUnits(0)).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    expect(exclusive.isHeld).toBe(true);
    await exclusive.release();
    const permits = await service.acquire(['c', 'd'], { permits: 2, units: 2 });
    await permits.release();
    await expect(permits.releaseUnits(1)).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });
});

describe('several keys in scopes', () => {
  it('are re-entered as a whole and in part, without a command', async () => {
    const service = await bench.service();
    await service.run(['a', 'b'], async (set) => {
      await bench.redis.resetCommandStats();
      await service.run(['b', 'a'], (again) => {
        expect([...again.fencingTokens].sort()).toEqual([...set.fencingTokens].sort());
        expect([again.holdCount, set.holdCount]).toEqual([2, 2]);
      });
      await service.run('b', (again) => expect(again.fencingToken).toBe(set.fencingTokens.get('b')));
      expect(await bench.calls()).toBe(0);
    });
    await bench.untilNothingIsLeft();
  });

  it('that overlap re-enter the shared ones, and acquire the rest', async () => {
    const [service, other] = await bench.pair();
    await service.run(['a', 'b'], async (outer) => {
      await service.run(['b', 'c', 'd'], async (inner) => {
        expect(inner.keys).toEqual(['b', 'c', 'd']);
        expect(inner.fencingTokens.get('b')).toBe(outer.fencingTokens.get('b'));
        expect(await held('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c', 'd']);
      });
      expect(await held('a', 'b', 'c', 'd')).toEqual(['a', 'b']);
      await outer.verify();

      const d = await other.acquire('d');
      await expect(service.acquire(['a', 'c', 'd'], { waitTimeout: 0 })).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
      });
      expect([outer.holdCount, await held('a', 'b', 'c')]).toEqual([1, ['a', 'b']]);
      await d.release();
    });
    await bench.untilNothingIsLeft();
  });

  it('fail if a re-entered key is lost while the rest is awaited', async () => {
    const [service, other] = await bench.pair();
    const b = await other.acquire('b');
    const outcome = await service
      .run(
        'a',
        async () => {
          const waiting = timed<LockHandle>(() => service.acquire(['a', 'b']));
          await bench.untilWaiting('b', 1);
          await other.forceRelease('a');
          await b.release();
          return waiting;
        },
        { onLost: 'ignore' },
      )
      .then(({ value, error }) => error ?? value);
    expect(outcome).toMatchObject({ code: 'LOCK_LOST', key: 'a' });
    expect(await held('a', 'b')).toEqual([]);
  });

  it('keep a multi-lock held as long as all of them are', async () => {
    const [service, other] = await bench.pair();
    const multi = service.getMultiLock(['a', 'b']);
    const run = service.run(['b', 'a'], async (set) => {
      expect([multi.isHeldByCurrentContext(), multi.getHoldCount()]).toEqual([true, 1]);
      await other.forceRelease('b');
      await eventually(() => set.signal.aborted);
      expect([multi.isHeldByCurrentContext(), multi.getHoldCount()]).toEqual([false, 0]);
    });
    await expect(run).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it.each([
    ['its unlock() is refused', {}],
    ['its unlock() is refused, and it has an owner', { owner: 'ada' }],
    ['its caller only unlocks what it holds', {}, true],
  ])(
    'are free within a lease after a multi-lock has lost one of them, if %s',
    async (_, options, isGuarded = false) => {
      const [service, other] = await bench.pair({ renewedLease: 1_000 });
      const multi = service.getMultiLock(['a', 'b'], options);
      const handle = await multi.lock();
      await other.forceRelease('a');
      await eventually(() => !handle.isHeld);
      if (isGuarded) expect(multi.isHeldByCurrentContext()).toBe(false);
      else await expect(multi.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
      const next = await other.acquire('b', { waitTimeout: 2_000 });
      expect(next.isHeld).toBe(true);
    },
  );

  it('are not released by a multi-lock inside the scope', async () => {
    const service = await bench.service();
    const multi = service.getMultiLock(['a', 'b']);
    await service.run(['a', 'b', 'c'], async () => {
      await expect(multi.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
      const again = await multi.lock();
      expect(multi.getHoldCount()).toBe(2);
      await multi.unlock();
      expect(again.isHeld).toBe(false);
      expect(await held('a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    });
  });

  it('do not count as a multi-lock if they are a set of readers', async () => {
    const service = await bench.service();
    const multi = service.getMultiLock(['a', 'b']);
    await service.run('a', () =>
      service.run(
        ['a', 'b'],
        async (readers) => {
          expect([multi.isHeldByCurrentContext(), multi.getHoldCount()]).toEqual([false, 0]);
          await expect(multi.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
          readers.assertHeld();
        },
        { kind: 'read' },
      ),
    );
  });
});

describe('several keys and obstacles', () => {
  it('leave nothing on the others if one key has a foreign type', async () => {
    const service = await bench.service();
    for (const role of ['state', 'fence', 'queue', 'tombstones']) {
      const foreign = `lock:${role}:{b}`;
      await bench.redis.admin.del(foreign);
      await bench.redis.admin.lpush(foreign, 'foreign');
      await bench.redis.admin.pexpire(foreign, 60_000);
      const { error } = await timed(() => service.acquire(['a', 'b', 'c'], { waitTimeout: 300 }));
      expect([role, error.code]).toEqual([role, 'LOCK_STORE']);
      expect(await held('a', 'c')).toEqual([]);
      expect(await bench.redis.admin.lrange(foreign, 0, -1)).toEqual(['foreign']);
      await bench.redis.admin.del(foreign);
    }
    expect((await service.acquire(['a', 'b', 'c'])).isHeld).toBe(true);
  });

  it('fail if one of them is released by force while another is awaited', async () => {
    const [one, other] = await bench.pair();
    const b = await other.acquire('b');
    const waiting = timed(() => one.acquire(['a', 'b']));
    await bench.untilWaiting('b', 1);
    await other.forceRelease('a');
    const a = await other.acquire('a');
    await b.release();
    expect((await waiting).error).toMatchObject({ code: 'LOCK_LOST', key: 'a' });
    await a.verify();
    expect(await held('b')).toEqual([]);
  });
});

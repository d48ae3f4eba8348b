import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import { KINDS } from '../../integration/kinds/support.js';
import { holdIds } from '../../../lab/testbed/locks/redis-key.mjs';

const bench = new LockBench();
const SCRIPT = { names: ['evalsha', 'eval'], nth: 1 };
const SETS = KINDS.map(({ kind, options }) => ({ kind, options }));

const holds = async (key: string): Promise<number> => (await holdIds(bench.redis.admin, `lock:state:{${key}}`)).length;

describe('a lost reply', () => {
  it.each(SETS)('to an acquire of one key: it is held once, and free afterwards: $kind', async ({ options }) => {
    const [proxy, observer] = [await bench.proxy(), await bench.service()];
    const service = await bench.service({ connection: proxy.url });
    await service.run('warm', () => undefined, options);
    const cut = proxy.cutAfterCommand(SCRIPT);
    const lock = await service.acquire('a', options);
    await cut.happened;
    expect([lock.isHeld, await holds('a')]).toEqual([true, 1]);
    const again = proxy.cutAfterCommand(SCRIPT);
    expect(await lock.release()).toBe(true);
    await again.happened;
    expect(await observer.tryAcquire('a')).not.toBeNull();
  });

  it.each(SETS)('to an acquire of several keys: each is held once, and free afterwards: $kind', async ({ options }) => {
    const [proxy, observer] = [await bench.proxy(), await bench.service()];
    const service = await bench.service({ connection: proxy.url });
    await service.run(['warm', 'up'], () => undefined, options);
    const cut = proxy.cutAfterCommand(SCRIPT);
    const set = await service.acquire(['a', 'b', 'c'], options);
    await cut.happened;
    expect(set.isHeld).toBe(true);
    expect([await holds('a'), await holds('b'), await holds('c')]).toEqual([1, 1, 1]);
    await set.verify();
    proxy.cutAfterCommand({ ...SCRIPT, nth: 2 });
    expect(await set.release()).toBe(true);
    expect(await observer.tryAcquire(['c', 'b', 'a'])).not.toBeNull();
  });

  it('to an acquire of several keys that was aborted in the meantime: nothing stays', async () => {
    const proxy = await bench.proxy();
    const service = await bench.service({ connection: proxy.url });
    await service.run(['a', 'b'], () => undefined);
    proxy.holdReplies();
    const aborting = new AbortController();
    const outcomes = [
      timed(() => service.acquire(['a', 'b'], { waitTimeout: 60 })),
      timed(() => service.acquire(['c', 'd'], { signal: aborting.signal })),
    ];
    await eventually(async () => (await holds('a')) + (await holds('c')) === 2);
    aborting.abort(new Error('enough'));
    const [late, aborted] = await Promise.all(outcomes);
    expect(late!.error).toMatchObject({ code: 'LOCK_STORE' });
    expect(aborted!.error).toMatchObject({ message: 'enough' });
    proxy.heal();
    await bench.untilNothingIsLeft();
    expect((await service.acquire(['d', 'c', 'b', 'a'])).isHeld).toBe(true);
  });
});

describe('a Redis that is full', () => {
  it.each(SETS)('grants no locks, and releases held ones: $kind', async ({ options }) => {
    const [one, other] = await bench.serviceList(2);
    const held = await one!.acquire(['a', 'b'], options);
    const alone = await one!.acquire('c', options);
    await bench.redis.admin.config('SET', 'maxmemory', '1');
    try {
      for (const keys of [['d'], ['d', 'e']]) {
        const { error } = await timed(() => other!.acquire(keys, { ...options, waitTimeout: 200 }));
        expect(error).toMatchObject({ code: 'LOCK_STORE' });
      }
      expect([await holds('d'), await holds('e')]).toEqual([0, 0]);
      await held.verify();
      expect(await held.release()).toBe(true);
      expect(await alone.release()).toBe(true);
      expect([await holds('a'), await holds('b'), await holds('c')]).toEqual([0, 0, 0]);
    } finally {
      await bench.redis.admin.config('SET', 'maxmemory', '0');
    }
  });
});

import { LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import { KINDS } from '../../integration/kinds/support.js';
import { holdIds } from '../../../lab/testbed/locks/redis-key.mjs';

const bench = new LockBench();
const SETS = KINDS.map(({ kind, options }) => ({ kind, options }));

const holds = async (key: string): Promise<number> => (await holdIds(bench.redis.admin, `lock:state:{${key}}`)).length;

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

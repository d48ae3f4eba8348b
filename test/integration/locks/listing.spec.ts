import type { LockService } from '../../../lib/service/lock.service.js';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

/** All keys that a service lists, and in how many parts. */
async function listAll(service: LockService, budget: number): Promise<{ keys: string[]; parts: number }> {
  const keys = new Set<string>();
  let parts = 0;
  for (let cursor: string | undefined = ''; cursor !== undefined; parts++) {
    const part: Awaited<ReturnType<LockService['listKeys']>> = await service.listKeys({ cursor, budget });
    for (const key of part.keys) keys.add(key);
    cursor = part.cursor;
  }
  return { keys: [...keys].sort(), parts };
}

const bench = new LockBench();
const KEYS = ['a', 'order:{42}:pay', 'a*?', 'a b', 'ünï'].sort();

describe('the list of locks', () => {
  it('is read in parts of a few names each', async () => {
    const service = await bench.service();
    await service.acquire('a');
    const others = Array.from({ length: 3_000 }, (_, i) => [`other:${i}`, '1']).flat();
    await bench.redis.admin.mset(...others);
    await bench.redis.resetCommandStats();
    await service.listKeys({ cursor: '', budget: 1_000 });
    expect(await bench.calls('scan')).toBe(2);
    const { keys, parts } = await listAll(service, 1_000);
    expect(keys).toEqual(['a']);
    expect(parts).toBeGreaterThanOrEqual(3);
    await bench.redis.admin.flushall();
  });

  it('contains the time of the server', async () => {
    const service = await bench.service();
    await service.acquire('a');
    const { time } = await service.listKeys({ cursor: '', budget: 1 });
    const since = (await service.inspect('a'))!.holders[0]!.since.getTime();
    expect(time - since).toBeGreaterThanOrEqual(0);
    expect(time - since).toBeLessThan(5_000);
  });

  it('finds keys whose prefix is also that of ioredis', async () => {
    const connection = bench.redis.client({ keyPrefix: 'app:' });
    const service = await bench.service({ connection, keyPrefix: 'app:lock' });
    await service.acquire('a');
    expect(await bench.redis.admin.exists('app:lock:state:{a}')).toBe(1);
    expect((await listAll(service, 1_000)).keys).toEqual(['a']);
  });

  it('is refused by a store that cannot list', async () => {
    const service = await bench.service({
      store: () => ({ listen() {}, async start() {}, async close() {} }) as never,
    });
    await expect(service.listKeys({ cursor: '', budget: 1 })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
  });
});

describe('list()', () => {
  async function listed(service: LockService, match?: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of service.list({ match })) keys.push(key);
    return keys.sort();
  }

  it('returns what inspect returns, and leaves out keys with other data', async () => {
    const [here, there] = await bench.pair();
    await Promise.all(KEYS.map((key) => here.acquire(key)));
    await bench.redis.admin.hset('lock:state:{foreign}', 'a', '1');
    await bench.redis.admin.set('lock:state:{text}', '1');
    expect(await listed(there)).toEqual(KEYS);
    expect(await listed(there, 'a*')).toEqual(['a', 'a b', 'a*?']);
    expect(await listed(there, 'a*?')).toEqual(['a*?']);
    expect(await listed(there, 'x*')).toEqual([]);
    for await (const lock of there.list({ match: 'a b' })) {
      expect({ ...lock, ttl: 0, holders: [] }).toEqual({ ...(await there.inspect('a b')), ttl: 0, holders: [] });
      expect(lock.holders).toMatchObject([{ client: here.clientId, kind: 'exclusive' }]);
    }
    await bench.redis.admin.flushall();
  });

  it('reads no further than its loop', async () => {
    const service = await bench.service();
    const keys = Array.from({ length: 100 }, (_, i) => `many:${i}`);
    await Promise.all(keys.map((key) => service.acquire(key)));
    await bench.redis.admin.mset(...Array.from({ length: 12_000 }, (_, i) => [`other:${i}`, '1']).flat());
    await bench.redis.resetCommandStats();
    expect(await listed(service)).toEqual(keys.sort());
    const all = await bench.calls('scan');
    await bench.redis.resetCommandStats();
    for await (const _ of service.list()) break;
    expect(await bench.calls('scan')).toBeLessThan(all);
    await bench.redis.admin.flushall();
  });

  it('fails from the loop, and at once for a mistake', async () => {
    const service = await bench.service({ commandTimeout: 300 });
    await bench.redis.pause();
    await expect(listed(service)).rejects.toMatchObject({ code: 'LOCK_STORE' });
    await bench.redis.resume();
    expect(() => service.list({ match: '' })).toThrow(
      'match is an empty string; write a key, in which * stands for any text',
    );
  });
});

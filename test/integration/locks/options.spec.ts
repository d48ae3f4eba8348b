import { describe, expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

const refused: Array<[options: any, message: RegExp]> = [
  [{ expire: Infinity }, /write 0/],
  [{ waitTimeout: ' 5 ' }, /waitTimeout is " 5 ", without a unit/],
  [{ maxRenewTimes: Infinity }, /0 for no limit/],
  [{ holdAtLeast: '2s', expire: '1s' }, /longer than expire/],
  [{ reentrant: 'no' }, /reentrant is "no"; write true or false/],
  [{ reentrant: 0 }, /reentrant is 0; write true or false/],
  [{ signal: new AbortController() }, /controller\.signal/],
  [{ timeout: 1000 }, /did you mean 'waitTimeout'/],
  [{ expires: 1000 }, /did you mean 'expire'/],
  ['10s', /object of options/],
  [null, /object of options/],
];

/** Keys that are refused everywhere are in hostile-text.spec.ts; these look like templates, or like nothing. */
const keys = ['\u00a0', 'stock:#{#sku}', '#{#sku}'];

const ways: Array<[string, (service: LockService, key: any, options: any) => Promise<unknown>]> = [
  ['acquire', (service, key, options) => service.acquire(key, options)],
  ['tryAcquire', (service, key, options) => service.tryAcquire(key, options)],
  ['run', (service, key, options) => service.run(key, () => 'ran', options)],
];

it('durations of up to 366 days work, also as a wait', async () => {
  const service = await bench.service();
  const year = 366 * 86_400_000;
  const lock = await service.acquire('a', { expire: '366d', holdAtLeast: '30d' });
  expect((await service.inspect('a'))!.ttl).toBeGreaterThan(year - 60_000);
  // A timer of Node for so long would be over after 1 ms.
  const waiting = (await bench.service()).acquire('a', { waitTimeout: '366d', expire: '366d' });
  const outcome = await Promise.race([waiting.then(String, String), eventuallyWaiting(service)]);
  expect(outcome).toBe('waits');
  await lock.release();
  expect((await service.inspect('a'))!.ttl).toBeGreaterThan(29 * 86_400_000);
  await service.forceRelease('a');
  const next = await waiting;
  await next.verify();
  expect(next.remainingTime()).toBeGreaterThan(0.98 * year);
  expect(await next.release()).toBe(true);
});

/** Waits for as long as a wrong timer would take several times. */
async function eventuallyWaiting(service: LockService): Promise<string> {
  await eventually(async () => (await service.inspect('a'))?.waiters.length === 1, { what: 'the waiter' });
  for (let i = 0; i < 20; i++) await service.inspect('a');
  return 'waits';
}

describe('options that cannot be used', () => {
  it.each(refused)('%p are refused before anything is sent', async (options, message) => {
    const service = await bench.service();
    await bench.redis.resetCommandStats();
    for (const [, way] of ways) {
      const error: any = await way(service, 'a', options).catch((reason) => reason);
      expect(error).toMatchObject({ code: 'LOCK_CONFIG', message: expect.stringMatching(message) });
    }
    expect((await bench.redis.commandStats())['evalsha']).toBeUndefined();
    expect(await bench.redis.admin.keys('*')).toEqual([]);
  });

  it.each(keys)('the key %p is refused before anything is sent', async (key) => {
    const service = await bench.service();
    for (const [, way] of ways) await expect(way(service, key, {})).rejects.toMatchObject({ code: 'LOCK_KEY' });
    expect(() => service.getLock(key)).toThrow(expect.objectContaining({ code: 'LOCK_KEY' }));
    await expect(service.inspect(key)).rejects.toMatchObject({ code: 'LOCK_KEY' });
    await expect(service.forceRelease(key)).rejects.toMatchObject({ code: 'LOCK_KEY' });
    expect(await bench.redis.admin.keys('*')).toEqual([]);
  });

  it.each([{ owner: '' }, { owner: 'a b' }, { name: 'me' }, 'me', null])(
    'getLock refuses %p at once',
    async (options) => {
      const service = await bench.service();
      expect(() => service.getLock('a', options as never)).toThrow(expect.objectContaining({ code: 'LOCK_CONFIG' }));
    },
  );

  it('are refused in re-entry, too', async () => {
    const service = await bench.service();
    await service.run('a', async () => {
      await expect(service.acquire('a', { expire: 5 })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    });
  });

  it('are refused if `onLost` of run is neither a word nor a function', async () => {
    const service = await bench.service();
    const task = () => 'ran';
    await expect(service.run('a', task, { onLost: 'log' as never })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    expect(await bench.redis.admin.keys('*')).toEqual([]);
  });
});

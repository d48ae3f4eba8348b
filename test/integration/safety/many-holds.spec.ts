import { expect, it } from '@jest/globals';
import { redisKeys } from '../../../lib/keys/index.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import {
  acquire,
  ADDRESS,
  BUSY,
  expectConsistent,
  HELD,
  Lock,
  QUEUED,
  redis,
  run,
  scripts,
  readHolds,
  useHoldsInPieces,
} from './holds-in-pieces.js';

useHoldsInPieces({ holds: 32, piece: 32 });

const MANY = 256;

it('many holds that expire at once are dropped in pieces, and each reply but the last says where to go on', async () => {
  const lock = new Lock('pieces', 0);
  const micros = (Number((await redis.admin.time())[0]) + 3_600) * 1_000_000;
  const ask = (id: string, mode: string, lease: number, at: number, place = 0): Promise<unknown> =>
    lock.call({ script: 'acquire', args: [ADDRESS, id, mode, '', lease, 1, `${place} 0 3000 600000 3000 1`] }, at);
  for (let i = 0; i < MANY; i++) await ask(`c0:${i}`, 'read', 1_000, micros + i);
  for (let i = 0; i < 5; i++) await ask(`c1:${i}`, 'read', 60_000, micros + MANY + i);

  const sizes: number[] = [];
  for (let place = 0; place >= 0;) {
    const reply = (await ask('c2:1', 'exclusive', 1_000, micros + 2_000_000, place)) as number[];
    expect(reply[0]).toBe(BUSY);
    place = reply[4]!;
    sizes.push((await readHolds(lock.names.state)).length);
  }
  // The last but one piece is as large as can be, so the script cannot know that it is the last one.
  expect(sizes).toEqual([229, 197, 165, 133, 101, 69, 37, 5, 5]);
});

it('many waiters are granted in pieces, and each reply but the last says where to go on', async () => {
  const listener = redis.admin.duplicate();
  try {
    await listener.subscribe('lock:client:c1');
    expect((await acquire('a', 'c0:1', 'exclusive', 60_000))[0]).toBe(HELD);
    for (let i = 0; i < 50; i++) expect((await acquire('a', `c1:${i}`, 'read', 60_000, 1))[0]).toBe(QUEUED);
    const sizes: number[] = [];
    for (let place = 0, id = 'c0:1'; place >= 0; id = 'c0:0') {
      place = (await run('a', 'release', id, `0 0 ${place}`))[1]!;
      sizes.push((await readHolds('lock:state:{a}')).length);
    }
    expect(sizes).toEqual([15, 30, 45, 50]);
  } finally {
    listener.disconnect();
  }
});

it('the last release of many holds leaves neither sums nor ends, and the next holder finds a free lock', async () => {
  for (let i = 0; i < MANY; i++) expect((await acquire('a', `c0:${i}`, 'read', 60_000))[0]).toBe(HELD);
  expect(await expectConsistent('a')).toBe('all');
  for (let i = 0; i < MANY; i++) await run('a', 'release', `c0:${i}`, '0 0 0');
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
  expect((await acquire('a', 'c1:1', 'exclusive', 60_000))[0]).toBe(HELD);
});

it.each(['lock:ends:{a}', 'lock:fence:{a}'])(
  'grants no permit too many, and makes the ends again, if %s is gone',
  async (key) => {
    for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'permits:1/21', 60_000);
    await redis.admin.del(key);
    await run('a', 'release', 'c0:3', '0 0 0');
    await redis.admin.del(key);
    expect((await acquire('a', 'c1:1', 'permits:1/21', 60_000))[0]).toBe(HELD);
    expect((await acquire('a', 'c1:2', 'permits:1/21', 60_000))[0]).toBe(HELD);
    expect((await acquire('a', 'c1:3', 'permits:1/21', 60_000))[0]).toBe(BUSY);
    expect(await expectConsistent('a')).toBe('all');
  },
);

it('the ends that a deleted state leaves behind count for nothing', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'permits:2/40', 60_000);
  await redis.admin.del('lock:state:{a}');
  for (let i = 0; i < 20; i++) expect((await acquire('a', `c1:${i}`, 'permits:2/40', 60_000))[0]).toBe(HELD);
  expect((await acquire('a', 'c2:1', 'permits:1/40', 60_000))[0]).toBe(BUSY);
  await expectConsistent('a');
});

it('a full Redis renews and releases one of many holds', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'read', 60_000);
  const [state] = [redisKeys('lock', 'a').state];
  await redis.admin.config('SET', 'maxmemory', '1');
  try {
    await expect(acquire('a', 'c1:1', 'read', 60_000)).rejects.toThrow('OOM');
    expect(await redis.admin.eval(scripts.pieces.renew, 1, state, 'c0:1', 120_000)).toEqual([120_000]);
    expect(await run('a', 'release', 'c0:3', '0 0 0')).toBe(1);
  } finally {
    await redis.admin.config('SET', 'maxmemory', '0');
  }
  await expectConsistent('a');
});

it('a forced release of some of many holds, and of all, keeps the sums true', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'read', 60_000);
  const { state } = redisKeys('lock', 'a');
  const force = async (number: number): Promise<number[]> => {
    const holds = (await readHolds(state)).slice(0, number);
    return run('a', 'force-release', 0, '-', ...holds.flatMap(({ id, since }) => [id, since]));
  };
  expect((await force(5))[0]).toBe(5);
  await expectConsistent('a');
  expect((await force(100))[0]).toBe(15);
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
});

it('each holder with an uncontended batch gets the message to end it, among any number of holds', async () => {
  const listener = redis.admin.duplicate();
  const told: string[] = [];
  const BATCHES = 70;
  try {
    await listener.subscribe('lock:client:c1', 'lock:client:c2');
    listener.on('message', (_, message: string) => told.push(message));
    const limit = `permits:1/${2 * BATCHES + 13}`;
    const take = async (id: string, batch: number): Promise<void> => {
      const request = [id, limit, '', 60_000, batch, '0 0 3000 600000 3000 1'];
      expect((await run('a', 'acquire', ...request))[0]).toBe(HELD);
    };
    for (let i = 0; i < BATCHES; i++) await take(`c1:${i}`, 1_000);
    for (let i = 0; i < BATCHES; i++) await take(`c2:${i}`, 1_000);
    for (let i = 0; i < 13; i++) await take(`c0:${i}`, 1);
    // A client continues until its request has led to the last of them.
    let reply = await acquire('a', 'c2:x', limit, 60_000, 1);
    while (reply[4]! >= 0) reply = await acquire('a', 'c2:x', limit, 60_000, 1, reply[4]);
    expect(await expectConsistent('a')).toBe('all');
    await eventually(() => told.length >= BATCHES);
    // The client's own request does not end its batches.
    expect(told.sort()).toEqual(Array.from({ length: BATCHES }, (_, i) => `yield c1:${i} a`).sort());
    reply = await acquire('a', 'c3:1', limit, 60_000, 1);
    while (reply[4]! >= 0) reply = await acquire('a', 'c3:1', limit, 60_000, 1, reply[4]);
    await eventually(() => told.length >= 2 * BATCHES);
    expect(new Set(told).size).toBe(2 * BATCHES);
  } finally {
    listener.disconnect();
  }
});

it('a state of two exclusive holds of one owner has the form of many, and ends with the last of them', async () => {
  const take = (id: string): Promise<number[]> =>
    run('a', 'acquire', id, 'exclusive', 'ada', 60_000, 1, '0 0 3000 600000 3000 1');
  await take('c0:1');
  expect(await redis.admin.hkeys('lock:state:{a}')).toEqual(['c0:1']);
  expect((await take('c0:2'))[0]).toBe(HELD);
  expect(await expectConsistent('a')).toBe('all');
  expect(await redis.admin.eval(scripts.pieces.renew, 1, 'lock:state:{a}', 'c0:1', 90_000)).toEqual([90_000]);
  expect(await run('a', 'release', 'c0:1', '0 0 0')).toBe(1);
  expect((await acquire('a', 'c1:1', 'exclusive', 60_000))[0]).toBe(BUSY);
  expect(await run('a', 'release', 'c0:2', '0 0 0')).toBe(1);
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
});

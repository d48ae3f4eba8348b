import { expect, it } from '@jest/globals';
import { redisKeys } from '../../../lib/keys/index.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import {
  acquire,
  ADDRESS,
  BUSY,
  compareMany,
  expectConsistent,
  HELD,
  Lock,
  QUEUED,
  redis,
  run,
  scripts,
  sequences,
  useIndexedLocks,
} from './holds-index.js';

useIndexedLocks();

it('scripts with an index of the holds give the same replies, contents and messages as scripts without', () =>
  compareMany(sequences));

const MANY = 256;

it('many holds that expire at once are dropped in pieces, and each reply but the last says where to go on', async () => {
  const lock = new Lock('index', 0);
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
    sizes.push(await redis.admin.hlen(lock.names.state));
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
      sizes.push(await redis.admin.hlen('lock:state:{a}'));
    }
    expect(sizes).toEqual([15, 30, 45, 50]);
  } finally {
    listener.disconnect();
  }
});

it('the last release of many holds leaves no part of the index, and the next holder finds a free lock', async () => {
  for (let i = 0; i < MANY; i++) expect((await acquire('a', `c0:${i}`, 'read', 60_000))[0]).toBe(HELD);
  expect(await redis.admin.exists('lock:ends:{a}', 'lock:crowd:{a}')).toBe(2);
  for (let i = 0; i < MANY; i++) await run('a', 'release', `c0:${i}`, '0 0 0');
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
  expect((await acquire('a', 'c1:1', 'exclusive', 60_000))[0]).toBe(HELD);
});

it.each(['lock:ends:{a}', 'lock:crowd:{a}', 'lock:fence:{a}'])(
  'scripts make the index anew if %s is gone',
  async (key) => {
    for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'permits:1/21', 60_000);
    await redis.admin.del(key);
    await run('a', 'release', 'c0:3', '0 0 0');
    await redis.admin.del(key);
    expect((await acquire('a', 'c1:1', 'permits:1/21', 60_000))[0]).toBe(HELD);
    expect((await acquire('a', 'c1:2', 'permits:1/21', 60_000))[0]).toBe(HELD);
    expect((await acquire('a', 'c1:3', 'permits:1/21', 60_000))[0]).toBe(BUSY);
    await expectConsistent('a');
  },
);

it('an index that a deleted state leaves behind counts for nothing', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'permits:2/40', 60_000);
  await redis.admin.del('lock:state:{a}');
  for (let i = 0; i < 20; i++) expect((await acquire('a', `c1:${i}`, 'permits:2/40', 60_000))[0]).toBe(HELD);
  expect((await acquire('a', 'c2:1', 'permits:1/40', 60_000))[0]).toBe(BUSY);
  await expectConsistent('a');
});

it('a full Redis renews, extends and releases one of many holds', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'read', 60_000);
  const [state] = [redisKeys('lock', 'a').state];
  await redis.admin.config('SET', 'maxmemory', '1');
  try {
    await expect(acquire('a', 'c1:1', 'read', 60_000)).rejects.toThrow('OOM');
    expect(await redis.admin.eval(scripts.index.renew, 1, state, 'c0:1', 120_000)).toEqual([120_000]);
    expect(await run('a', 'extend', 'c0:2', 120_000)).toBe(120_000);
    expect(await run('a', 'release', 'c0:3', '0 0 0')).toEqual([1, -1]);
  } finally {
    await redis.admin.config('SET', 'maxmemory', '0');
  }
  await expectConsistent('a');
});

it('a forced release of some of many holds, and of all, keeps the index true', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'read', 60_000);
  const { state } = redisKeys('lock', 'a');
  const force = async (number: number): Promise<number[]> => {
    const holds = Object.entries(await redis.admin.hgetall(state)).slice(0, number);
    return run('a', 'force-release', 0, ...holds.flatMap(([id, text]) => [id, text.split(' ')[3]!]));
  };
  expect((await force(5))[0]).toBe(5);
  await expectConsistent('a');
  expect((await force(100))[0]).toBe(15);
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
});

it('a holder with an uncontended batch gets the message to end it, wherever it stands among many holds', async () => {
  const listener = redis.admin.duplicate();
  const told: string[] = [];
  try {
    await listener.subscribe('lock:client:c1');
    listener.on('message', (_, message: string) => told.push(message));
    for (let i = 0; i < 12; i++) expect((await acquire('a', `c0:${i}`, 'permits:1/13', 30_000))[0]).toBe(HELD);
    const uncontended = ['c1:1', 'permits:1/13', '', 60_000, 1_000, '0 0 3000 600000 3000 1'];
    expect((await run('a', 'acquire', ...uncontended))[0]).toBe(HELD);
    expect((await acquire('a', 'c2:1', 'permits:1/13', 60_000, 1))[0]).toBe(5);
    await eventually(() => told.length > 0);
    expect(told).toEqual(['yield c1:1 a']);
  } finally {
    listener.disconnect();
  }
});

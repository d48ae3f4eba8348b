import { expect, it } from '@jest/globals';
import { redisKeys } from '../../../lib/keys/index.js';
import {
  acquire,
  BUSY,
  compareMany,
  expectConsistent,
  HELD,
  indexKeys,
  QUEUED,
  redis,
  run,
  scripts,
  sequencesWithLosses,
  useIndexedLocks,
} from './holds-index.js';

/** A script adds about this many holds to the index. */
const PIECE = 4;
/** So the index takes about this many scripts. */
const PIECES = 25;
const HOLDS = PIECE * PIECES;
const LIMIT = HOLDS + 2;
const PERMITS = `permits:1/${LIMIT}`;

const { ends, aggregates } = indexKeys('a');
const { state } = redisKeys('lock', 'a');

useIndexedLocks(PIECE);

it('while the index of the holds gets lost and is made in pieces, scripts grant what scripts without an index grant', () =>
  compareMany(sequencesWithLosses, true));

async function holdAndLose(mode: string, lease = 60_000): Promise<void> {
  for (let i = 0; i < HOLDS; i++) expect((await acquire('a', `c0:${i}`, mode, lease))[0]).toBe(HELD);
  await redis.admin.del(ends);
}

/** Runs a script that adds a piece, and nothing else. Returns the place where to go on. */
const addPiece = async (): Promise<number> => (await run('a', 'release', 'c9:1', '0 0 0'))[1]!;

/** Returns after how many scripts the index was complete. */
async function complete(): Promise<number> {
  for (let scripts = 1; ; scripts++) {
    const place = await addPiece();
    await expectConsistent('a');
    if (place < 0) return scripts;
    expect(scripts).toBeLessThan(3 * PIECES);
  }
}

it('a script adds one piece to a lost index, and its reply says that there is more', async () => {
  await holdAndLose('read');
  const sizes = [0];
  await redis.admin.config('RESETSTAT');
  for (let place = 0; place >= 0;) {
    place = await addPiece();
    sizes.push(await redis.admin.zcard(ends));
  }
  expect(sizes.at(-1)).toBe(HOLDS);
  const pieces = sizes.slice(1).map((size, i) => size - sizes[i]!);
  // HSCAN returns the whole of the last bucket that it looks at.
  expect(Math.max(...pieces)).toBeLessThan(3 * PIECE);
  expect(pieces.length).toBeGreaterThan(PIECES / 3);
  expect(await redis.admin.info('commandstats')).not.toContain('cmdstat_hgetall');
  expect(await expectConsistent('a')).toBe('all');
});

it('no permit is granted beyond the limit while the index is incomplete, and all permits after that', async () => {
  await holdAndLose(PERMITS);
  expect((await acquire('a', 'c1:1', PERMITS, 60_000)).slice(0, 1)).toEqual([BUSY]);
  expect(await redis.admin.hlen(state)).toBe(HOLDS);
  await complete();
  expect((await acquire('a', 'c1:1', PERMITS, 60_000))[0]).toBe(HELD);
  expect((await acquire('a', 'c1:2', PERMITS, 60_000))[0]).toBe(HELD);
  expect((await acquire('a', 'c1:3', PERMITS, 60_000))[0]).toBe(BUSY);
});

it('holds that are released and renewed between the pieces are counted once', async () => {
  await holdAndLose(PERMITS);
  for (let i = 0; i < HOLDS; i += 2) {
    await run('a', 'release', `c0:${i}`, '0 0 0');
    expect(await run('a', 'extend', `c0:${i + 1}`, 90_000)).toBe(90_000);
    await expectConsistent('a');
  }
  await complete();
  expect(await redis.admin.hlen(state)).toBe(HOLDS / 2);
  expect(await redis.admin.zcard(ends)).toBe(HOLDS / 2);
});

it('a waiter that queues while the index is incomplete is granted once its request has led to the last piece', async () => {
  await holdAndLose('read');
  const first = await acquire('a', 'c1:1', 'read', 60_000, 1);
  expect(first[0]).toBe(QUEUED);
  expect(first[4]).toBeGreaterThanOrEqual(0);
  let reply = first;
  while (reply[0] === QUEUED) reply = await acquire('a', 'c1:1', 'read', 60_000, 1, reply[4]);
  expect(reply[0]).toBe(HELD);
  expect(await redis.admin.exists('lock:queue:{a}')).toBe(0);
  await expectConsistent('a');
});

it('several keys at once, and an offer, wait for the index', async () => {
  await holdAndLose('read');
  const names = redisKeys('lock', 'a');
  const all = async (): Promise<unknown[]> => {
    const keys = [names.state, names.queue, names.waiters, names.fence, names.tombstones, names.limit];
    const request = ['c1:1', 'read', '', 60_000, 1, '0 0 3000 600000 3000 1'];
    return (await redis.admin.eval(scripts.index['acquire-all'], keys.length, ...keys, ...request)) as unknown[];
  };
  expect(await all()).toEqual([]);
  expect(await run('a', 'offer', 'c0:1', 'offer:1', 5_000)).toBe(-3);
  await complete();
  expect((await all())[0]).toBe(HELD);
  expect(await run('a', 'offer', 'c0:1', 'offer:1', 5_000)).toBe(5_000);
});

it('pieces from two servers do not make a complete index of holds that it lacks', async () => {
  await holdAndLose('read');
  await addPiece();
  // A cursor of another server may lead anywhere.
  await redis.admin.hset(aggregates, 'next', '127');
  const scripts = await complete();
  expect(scripts).toBeGreaterThan(PIECES / 3);
  expect(await redis.admin.zcard(ends)).toBe(HOLDS);
});

it('a full Redis extends and releases holds while their index is incomplete', async () => {
  await holdAndLose('read');
  await addPiece();
  await redis.admin.config('SET', 'maxmemory', '1');
  try {
    expect(await run('a', 'extend', 'c0:2', 120_000)).toBe(120_000);
    expect((await run('a', 'release', 'c0:3', '0 0 0'))[0]).toBe(1);
  } finally {
    await redis.admin.config('SET', 'maxmemory', '0');
  }
  expect(await expectConsistent('a')).toBe('part');
});

it('an incomplete index whose holds are all released has a TTL, and disappears with the last ones', async () => {
  await holdAndLose('read');
  await addPiece();
  for (const id of await redis.admin.zrange(ends, 0, '-1')) {
    await run('a', 'release', id, '0 0 0');
    await expectConsistent('a');
  }
  for (const id of await redis.admin.hkeys(state)) await run('a', 'release', id, '0 0 0');
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
});

import { redisKeys } from '../../../lib/keys/index.js';
import {
  acquire,
  BUSY,
  compareMany,
  expectConsistent,
  HELD,
  readHolds,
  QUEUED,
  redis,
  run,
  scripts,
  sequencesWithLosses,
  sequences,
  useHoldsInPieces,
} from './holds-in-pieces.js';

/** A script adds about this many holds to lost ends. */
const PIECE = 4;
/** So making them again takes about this many scripts. */
const PIECES = 25;
const HOLDS = PIECE * PIECES;

const { ends, state } = redisKeys('lock', 'a');

useHoldsInPieces({ piece: PIECE });

it('scripts that look at two holds at a time lead to the same replies, contents and messages as scripts that look at all', () =>
  compareMany(sequences));

it('the same while the ends get lost and are made again in pieces', () => compareMany(sequencesWithLosses));

async function holdAndLose(mode: string, lease = 60_000): Promise<void> {
  for (let i = 0; i < HOLDS; i++) expect((await acquire('a', `c0:${i}`, mode, lease))[0]).toBe(HELD);
  await redis.admin.del(ends);
}

/** Runs a script that adds a piece, and nothing else. Returns the place where to go on. */
const addPiece = async (): Promise<number> => (await run('a', 'release', 'c9:1', '0 0 0'))[1]!;

/** Returns after how many scripts the ends were complete. */
async function complete(): Promise<number> {
  for (let scripts = 1; ; scripts++) {
    const place = await addPiece();
    await expectConsistent('a');
    if (place < 0) return scripts;
    expect(scripts).toBeLessThan(3 * PIECES);
  }
}

it('a script adds one piece to lost ends, and its reply says that there is more', async () => {
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

it('an owner re-enters once its request has led to the last piece', async () => {
  const enter = (id: string, place = 0): Promise<number[]> =>
    run('a', 'acquire', id, 'read', 'ada', 60_000, 1, `${place} 1 3000 600000 3000 1`);
  await enter('c0:ada');
  await holdAndLose('read');
  expect((await acquire('a', 'c1:1', 'exclusive', 60_000, 1))[0]).toBe(QUEUED);
  await redis.admin.del(ends);
  let reply = await enter('c0:again');
  expect(reply[0]).toBe(QUEUED);
  while (reply[0] === QUEUED) {
    expect(reply[2]).toBeGreaterThanOrEqual(0);
    reply = await enter('c0:again', reply[2]);
  }
  expect(reply[0]).toBe(HELD);
  expect(await expectConsistent('a')).toBe('all');
});

it('a writer that asks for several keys, and an offer, wait for the ends', async () => {
  await holdAndLose('read');
  const all = async (): Promise<unknown[]> => {
    const keys = Object.values(redisKeys('lock', 'a'));
    const request = ['c1:1', 'exclusive', '', 60_000, 1, '0 0 3000 600000 3000 1'];
    return (await redis.admin.eval(scripts.pieces['acquire-all'], keys.length, ...keys, ...request)) as unknown[];
  };
  expect(await all()).toEqual([]);
  expect(await run('a', 'hand-over', 'c0:1', 'offer:1', 5_000)).toEqual([]);
  await complete();
  expect((await all())[0]).toBe(BUSY);
  expect((await run('a', 'hand-over', 'c0:1', 'offer:1', 5_000))[0]).toBe(HELD);
});

it('a full Redis releases holds while their ends are incomplete', async () => {
  await holdAndLose('read');
  await addPiece();
  expect(await redis.withoutMemory(() => run('a', 'release', 'c0:3', '0 0 0'))).toBe(1);
  expect(await expectConsistent('a')).toBe('part');
});

it('incomplete ends whose holds are all released have a TTL, and disappear with the last ones', async () => {
  await holdAndLose('read');
  await addPiece();
  for (const id of await redis.admin.zrange(ends, 0, '-1')) {
    await run('a', 'release', id, '0 0 0');
    await expectConsistent('a');
  }
  for (const { id } of await readHolds(state)) await run('a', 'release', id, '0 0 0');
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
});

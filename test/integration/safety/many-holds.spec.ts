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
    place = reply[2]!;
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

it.each(['lock:ends:{a}', 'lock:fence:{a}'])(
  'grants no permit too many if %s is gone, and makes ends again',
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

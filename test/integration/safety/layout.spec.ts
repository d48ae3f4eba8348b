import { latchKeys, redisKeys } from '../../../lib/keys/index.js';
import type { AcquireRequest } from '../../../lib/store/lock-store.js';
import { LAYOUT } from '../../../lib/store/protocol.generated.js';
import { QuorumStore } from '../../../lib/store/quorum/quorum-store.js';
import { newClientId, RedisStore } from '../../../lib/store/redis/redis-store.js';
import { StagedStore } from '../../../lib/testing/contract/stage.js';
import { LockBench, eventually, startRedis, SILENT } from '../../../lab/testbed/locks/locks.js';

const OTHER = LAYOUT + 1;
const KEY = 'a';
const { state, queue, waiters } = redisKeys('lock', KEY);
const { latch } = latchKeys('lock', KEY);

const bench = new LockBench();
let store: RedisStore;
let request: (waits: boolean) => AcquireRequest;

beforeEach(async () => {
  store = new RedisStore({ connection: bench.redis.url, keyPrefix: 'lock', commandTimeout: 2_000 }, SILENT);
  const staged = new StagedStore(store);
  request = (waits) => staged.request(KEY, { waits });
  await store.start();
});
afterEach(() => store.close());

/**
 * A lock that a client of another layout holds, and one for which it waits: in forms that this version does not know.
 */
const holdIt = (): Promise<unknown> =>
  bench.redis.admin
    .multi()
    .hset(state, 'layout', OTHER, 'their:1', '{"mode":"exclusive"}')
    .pexpire(state, 60_000)
    .exec();
const waitForIt = (): Promise<unknown> =>
  bench.redis.admin
    .multi()
    .zadd(queue, '1', 'their:2')
    .hset(waiters, 'layout', OTHER, 'their:2', '{"mode":"exclusive"}')
    .pexpire(queue, 60_000)
    .pexpire(waiters, 60_000)
    .exec();

const REFUSED = {
  code: 'LOCK_STORE',
  transient: false,
  message: expect.stringMatching(
    new RegExp(`layout ${OTHER} .*reads and writes layout ${LAYOUT}.*Stop all processes of one version`),
  ),
};

async function dump(): Promise<unknown> {
  const names = (await bench.redis.admin.keys('*')).sort();
  return Promise.all(names.map(async (name) => [name, (await bench.redis.admin.dumpBuffer(name))?.toString('base64')]));
}

const next = (): { next: AcquireRequest } => ({ next: request(true) });
const release = { key: KEY, id: 'me:0', tombstoneFor: 0, keep: 0, next: undefined };
const hold = { key: KEY, id: 'me:0', lease: 9_000, token: 1, batchSize: 1, latest: undefined, owner: undefined };

const OF_BOTH: Array<[string, () => Promise<unknown>]> = [
  ['acquire', () => store.acquire(request(false))],
  ['acquire with a place in the queue', () => store.acquire(request(true))],
  ['release', () => store.release(release)],
  ['release with a next request', () => store.release({ ...release, ...next() })],
  ['force-release', () => store.endHolds(KEY, [{ id: 'their:1', since: 1 }])],
  ['reinstate', () => store.reinstate({ ...hold, mode: { kind: 'exclusive' } })],
  ['inspect', () => store.inspect(KEY)],
];
const OF_HOLDS: typeof OF_BOTH = [
  ['acquire-all', () => store.acquireAll([request(false)])],
  ['fence', () => store.fence(hold)],
  ['set-limit', () => store.setLimit(KEY, 3)],
  ['add-limit', () => store.permits.add({ key: KEY, id: 'me:0', change: 1, permits: 1 })],
  ['keep-units', () => store.permits.keepUnits({ key: KEY, id: 'me:0', units: 1, keep: 0 })],
];
const LATCHES: typeof OF_BOTH = [
  ['latch-set', () => store.latches.setCount({ key: KEY, id: 'me:0', count: 2, lifetime: 1_000 })],
  ['latch-count-down', () => store.latches.countDown(KEY, 'me:0')],
  ['latch-delete', () => store.latches.delete(KEY, 'me:0', 'theirs')],
  ['latch-count', () => store.latches.count(KEY, 1_000, [])],
];

describe.each([
  ['held', holdIt, [...OF_BOTH, ...OF_HOLDS]],
  ['wanted', waitForIt, OF_BOTH],
] as const)('a lock of another layout that is %s', (_, prepare, calls) => {
  it.each(calls)('%s refuses it by its name, and changes nothing', async (_name, call) => {
    await prepare();
    const before = await dump();
    await expect(call()).rejects.toMatchObject(REFUSED);
    expect(await dump()).toEqual(before);
  });
});

it.each(LATCHES)('a latch of another layout %s refuses it by its name, and changes nothing', async (_, call) => {
  const content = ['layout', OTHER, 'count', 2, 'name', 'theirs', 'lifetime', 60_000];
  await bench.redis.admin
    .multi()
    .hset(latch, ...content)
    .pexpire(latch, 60_000)
    .exec();
  const before = await dump();
  await expect(call()).rejects.toMatchObject(REFUSED);
  expect(await dump()).toEqual(before);
});

it('a caller gets the error at once, and other keys of the prefix work', async () => {
  await holdIt();
  const service = await bench.service();
  await expect(service.acquire(KEY)).rejects.toMatchObject(REFUSED);
  const lock = await service.acquire('b');
  expect(await lock.release()).toBe(true);
});

it('a client acquires the key after the last lock of the other layout has ended', async () => {
  await holdIt();
  await expect(store.acquire(request(false))).rejects.toMatchObject(REFUSED);
  await bench.redis.admin.del(state);
  expect(await store.acquire(request(false))).toMatchObject({ outcome: 'held' });
});

it('of several masters, a majority with another layout refuses', async () => {
  const others = [await startRedis(), await startRedis()];
  const clientId = newClientId();
  const shared = { keyPrefix: 'lock', commandTimeout: 2_000, clientId };
  const members = [bench.redis, ...others].map(({ url }) => new RedisStore({ connection: url, ...shared }, SILENT));
  const quorum = new QuorumStore({ members, commandTimeout: 2_000, logger: SILENT });
  const staged = new StagedStore(quorum);
  try {
    await quorum.start();
    await holdIt();
    await others[0]!.admin.hset(state, 'layout', OTHER);
    await expect(quorum.acquire(staged.request(KEY, { waits: false }))).rejects.toMatchObject(REFUSED);
    // One master alone cannot keep the others from a majority.
    await others[0]!.admin.del(state);
    // The refused acquisition gives its vote back in the background.
    await eventually(async () => (await others[1]!.admin.exists(state)) === 0);
    expect(await quorum.acquire(staged.request(KEY, { waits: false }))).toMatchObject({ outcome: 'held' });
  } finally {
    await quorum.close();
    await Promise.all(others.map((each) => each.stop()));
  }
});

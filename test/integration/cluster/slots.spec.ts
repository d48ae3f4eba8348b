import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hashSlot } from '../../../lib/keys/index.js';
import { latchKeys } from '../../../lib/keys/index.js';
import type { AcquireRequest } from '../../../lib/store/lock-store.js';
import { newClientId, RedisStore } from '../../../lib/store/redis/redis-store.js';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

const bench = new ClusterBench();
const quiet = { debug() {}, log() {}, warn() {}, error() {} };
const clientId = newClientId();
let store: RedisStore;
let lastId = 0;

beforeAll(async () => {
  const connection = { cluster: bench.cluster.addresses };
  store = new RedisStore({ connection, keyPrefix: 'lock', commandTimeout: 3_000, clientId }, quiet);
  await store.start();
});
afterAll(() => store.close());

const request = (key: string): AcquireRequest => ({
  key,
  id: `${clientId}:${++lastId}`,
  mode: { kind: 'exclusive' },
  owner: undefined,
  lease: 5_000,
  waits: false,
  period: 1_000,
  patience: 3_000,
  grantTimeout: 3_000,
  batchSize: 1,
  uncontendedBatchSize: 1,
  fair: false,
});

describe('locks in several slots', () => {
  it('have the slots that Redis computes', async () => {
    const names = ['a', 'order:{42}:pay', 'ä€𝄞', '{}x', 'a{}{b}', '{{x}}', 'lock:client:{a{}:0a1b', 'x'.repeat(500)];
    const slots = await Promise.all(names.map((name) => bench.cluster.nodes[0]!.admin.cluster('KEYSLOT', name)));
    expect(names.map(hashSlot)).toEqual(slots);
  });

  it('are renewed with one command per slot, and answered in the order of the requests', async () => {
    const keys = ['a', 'b', 'c', 'd'].flatMap((tag) => [1, 2, 3, 4, 5].map((n) => `${n}:{${tag}}`)).sort();
    const holds = keys.map(request);
    for (const hold of holds) expect((await store.acquire(hold)).outcome).toBe('held');
    await store.release({ key: keys[7]!, id: holds[7]!.id, tombstoneFor: 0, keep: 0, next: undefined });
    await bench.resetStats();
    const replies = await store.renew(holds.map(({ key, id }, i) => ({ key, id, lease: 10_000 + 100 * i })));
    expect(await bench.calls('evalsha')).toBe(4);
    replies.forEach((reply, i) => {
      if (i === 7) expect(reply).toBe('not-held');
      else expect(Math.abs(Number(reply) - (10_000 + 100 * i))).toBeLessThan(50);
    });
  });

  it('are acquired in one step within a slot, otherwise one by one, all or none', async () => {
    const [one, other] = await bench.serviceList(2);
    await bench.resetStats();
    const together = await one!.acquire(['x:{t}', 'y:{t}', 'z:{t}']);
    expect(await bench.calls('evalsha')).toBe(1);
    expect(await other!.tryAcquire(['w:{t}', 'y:{t}'])).toBeNull();
    await together.release();

    const keys = await bench.cluster.keysOnAllMasters('several', 6);
    const apart = await one!.acquire(keys);
    expect(apart.fencingTokens.size).toBe(6);
    for (const key of keys) expect(await other!.tryAcquire(key)).toBeNull();
    expect(await other!.tryAcquire(['free', keys[3]!])).toBeNull();
    const waiting = other!.acquire([...keys].reverse());
    await bench.untilWaiting([...keys].sort()[0]!, 1);
    await apart.release();
    const next = await waiting;
    for (const key of keys) expect(next.fencingTokens.get(key)).toBeGreaterThan(apart.fencingTokens.get(key)!);
    await next.release();
    await bench.untilNothingIsLeft();
  });

  it('notify waiters of latches at other nodes', async () => {
    const [one, other] = await bench.serviceList(2);
    const keys = await bench.cluster.keysOnAllMasters('latch', 3);
    for (const key of keys) {
      const latch = one!.getCountDownLatch(key);
      expect(await latch.trySetCount(2)).toBe(true);
      const opened = [one!, other!].map((service) => service.getCountDownLatch(key).await('10s'));
      await latch.countDown();
      // Both have registered before it opens, so they get a message and need not ask.
      const name = latchKeys('lock', key).latch;
      await eventually(async () => (await bench.cluster.admin.hlen(name)) >= 5);
      const since = performance.now();
      await other!.getCountDownLatch(key).countDown();
      expect(await Promise.all(opened)).toEqual([true, true]);
      expect(performance.now() - since).toBeLessThan(2_500);
    }
  });

  it('notify a holder that never waited of a forced release', async () => {
    const [one, other] = await bench.serviceList(2);
    for (const key of await bench.cluster.keysOnAllMasters('force', 3)) {
      const lock = await one!.acquire(key, { expire: '20s' });
      const lost = new Promise((resolve) => lock.signal.addEventListener('abort', resolve, { once: true }));
      const since = performance.now();
      expect(await other!.forceRelease(key)).toBe(true);
      await lost;
      expect(performance.now() - since).toBeLessThan(2_500);
      expect(lock.isHeld).toBe(false);
    }
  });
});

it('tells that a holder which has ended is not connected, whatever node has its subscription', async () => {
  const [observer, other] = [await bench.service(), await bench.service()];
  const [worker] = await bench.workerList(1);
  await worker!.acquire('a', { expire: '1m' });
  const connected = async () => (await observer.inspect('a'))!.holders.map((each) => each.connected);
  expect(await connected()).toEqual([true]);
  await worker!.process.kill();
  await eventually(async () => (await connected())[0] === false);
  await other.forceRelease('a');
});

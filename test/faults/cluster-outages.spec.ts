import { describe, expect, it } from '@jest/globals';
import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { eventuallyPasses, throughout } from '../../lab/testbed/wait/eventually.mjs';
import { abortOf, timed } from '../../lab/testbed/locks/fault-locks.js';

// No replicas: no node takes over, so the outcome for a hold depends on its master alone.
const bench = new ClusterBench();
const LEASE = 2_000;
const LATE = 1_000;

describe('a master of a Cluster', () => {
  it('that is stopped for less than the lease: holders keep their locks, waiters are served, and other slots are not affected', async () => {
    const [one, other] = await bench.serviceList(2, { renewedLease: 3 * LEASE });
    const [key, elsewhere] = (await bench.cluster.keysOnAllMasters('k', 2)) as [string, string];
    const lock = await one!.acquire(key);
    const waiting = other!.acquire(key, { waitTimeout: '30s' });
    await bench.untilWaiting(key, 1);
    const master = await bench.cluster.masterOf(key);
    await master.pause();
    const { ran } = await timed(one!.run(elsewhere, () => undefined));
    expect(ran).toBeLessThan(LATE);
    await throughout(LEASE, () => lock.isHeld);
    await master.resume();
    await eventuallyPasses(() => lock.verify(), { within: 5_000 });
    expect(await lock.release()).toBe(true);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await next.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });
});

describe('a Cluster', () => {
  it('whose nodes are all gone: every call fails with LockStoreError in time, and works when they are back', async () => {
    const BOUND = 1_000;
    const [one, other] = await bench.serviceList(2, { renewedLease: LEASE, commandTimeout: BOUND });
    const lock = await one!.acquire('a');
    const aborted = abortOf(lock.signal);
    await Promise.all(bench.cluster.nodes.map((node) => node.kill()));
    const gone = performance.now();
    const outcomes = await Promise.all([
      timed(other!.acquire('b', { waitTimeout: '60s' })),
      timed(other!.tryAcquire('b')),
      timed(lock.verify()),
    ]);
    for (const { error, ran } of outcomes) {
      expect(error).toMatchObject({ code: expect.stringMatching(/LOCK_STORE|LOCK_LOST/) });
      expect(ran).toBeLessThan(2 * BOUND + LATE);
    }
    expect((await aborted) - gone).toBeLessThan(LEASE + LATE);
    await Promise.all(bench.cluster.nodes.map((node) => node.start()));
    await bench.cluster.untilWhole();
    await eventuallyPasses(
      async () => {
        const next = await other!.acquire('a', { waitTimeout: 5_000 });
        expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
        expect(await next.release()).toBe(true);
      },
      { within: 10_000 },
    );
  });
});

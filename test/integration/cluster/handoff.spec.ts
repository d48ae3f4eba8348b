import { describe, expect, it } from '@jest/globals';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

const bench = new ClusterBench();

describe('a handoff in a Cluster', () => {
  it('is one command and one message in the slot, and a hot key has one subscription', async () => {
    const [one, other] = await bench.serviceList(2);
    for (const [first, second] of [
      [one!, other!],
      [other!, one!],
    ]) {
      const lock = await first!.acquire('b');
      const next = second!.acquire('b');
      await bench.untilWaiting('b', 1);
      await lock.release();
      await (await next).release();
    }
    await bench.resetStats();
    let holder = await one!.acquire('b');
    const turns = 10;
    for (let i = 0; i < turns; i++) {
      const next = [other!, one!][i % 2]!.acquire('b');
      await bench.untilWaiting('b', 1);
      await holder.release();
      holder = await next;
    }
    // The first acquire, and for each turn an acquire that waits and a release.
    expect(await bench.calls('evalsha')).toBe(1 + 2 * turns);
    expect(await bench.calls('spublish')).toBe(turns);
    expect(await bench.calls('publish')).toBe(0);
    expect(await bench.calls('ssubscribe')).toBe(0);
    await holder.release();
  });

  it('needs no subscription without waiters', async () => {
    const service = await bench.service();
    await bench.resetStats();
    for (const key of ['c', 'd', 'e']) await (await service.acquire(key)).release();
    expect(await service.tryAcquire('f')).not.toBeNull();
    expect(await service.tryAcquire('f')).toBeNull();
    expect(await bench.calls('ssubscribe')).toBe(0);
  });

  it('drops a channel after some time without waiters, and subscribes again', async () => {
    const [one, other] = await bench.serviceList(2, { renewedLease: 600, commandTimeout: 500 });
    const listening = async (key: string): Promise<number> =>
      ((await (await bench.cluster.masterOf(key)).admin.call('PUBSUB', 'SHARDCHANNELS', `*{${key}}*`)) as string[])
        .length;
    for (let times = 0; times < 2; times++) {
      const [lock, kept] = [await one!.acquire('h'), await one!.acquire('1:{i}')];
      const waiting = [other!.acquire('h'), other!.acquire('1:{i}')];
      await bench.untilWaiting('h', 1);
      await bench.untilWaiting('1:{i}', 1);
      const since = performance.now();
      await lock.release();
      await (await waiting[0]!).release();
      expect(performance.now() - since).toBeLessThan(2_500);
      await eventually(async () => (await listening('h')) === 0);
      // A caller still waits for this one.
      expect(await listening('i')).toBe(1);
      await kept.release();
      await (await waiting[1]!).release();
    }
  });
});

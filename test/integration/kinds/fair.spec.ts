import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { AT_ONCE, inTurn, LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import { unawaited } from './support.js';

const bench = new LockBench();

/** How many other callers had the lock between two turns of a caller, for each two turns in a row. */
function othersBetween(served: readonly string[], name: string): number[] {
  const turns = served.flatMap((who, i) => (who === name ? [i] : []));
  return turns.slice(1).map((turn, i) => new Set(served.slice(turns[i]! + 1, turn)).size);
}

describe('a fair lock', () => {
  it('serves 50 waiters of one process strictly in the order of their arrival at Redis', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { fair: true });
    const served: number[] = [];
    const visits = Array.from({ length: 50 }, (_, i) => service.run('a', () => served.push(i), { fair: true }));
    await bench.untilWaiting('a', 50);
    await lock.release();
    await Promise.all(visits);
    expect(served).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  it('serves 50 waiters of four clients strictly in the order of their arrival at Redis', async () => {
    const [holder, ...clients] = await bench.serviceList(5);
    const lock = await holder!.acquire('a');
    const served: number[] = [];
    const visits: Array<Promise<unknown>> = [];
    await inTurn(50, async (i) => {
      // Not in turn: some clients have several in a row, and leave again.
      const client = clients[[0, 0, 0, 1, 2, 1, 3, 3, 0, 2][i % 10]!]!;
      visits.push(
        client
          .getFairLock('a')
          .lock()
          .then(async (handle) => {
            served.push(i);
            await handle.release();
          }),
      );
      await bench.untilWaiting('a', i + 1);
    });
    await lock.release();
    await Promise.all(visits);
    expect(served).toEqual(Array.from({ length: 50 }, (_, i) => i));
    await bench.untilNothingIsLeft();
  });

  it('precedes waiters of a crowd that have no place in Redis yet', async () => {
    const [crowded, fair] = await bench.serviceList(2);
    const lock = await crowded!.acquire('a');
    const served: string[] = [];
    const crowd = Array.from({ length: 20 }, () => crowded!.run('a', () => served.push('crowd')));
    const waiting = fair!.run('a', () => served.push('fair'), { fair: true, owner: 'fair' });
    await eventually(async () => (await fair!.inspect('a'))?.waiters.some(({ owner }) => owner === 'fair'));
    await lock.release();
    await Promise.all([...crowd, waiting]);
    expect(served.indexOf('fair')).toBe(0);
  });

  it('shares one queue with requests that are not fair', async () => {
    const [holder, ...clients] = await bench.serviceList(7);
    const lock = await holder!.acquire('a');
    const served: number[] = [];
    const visits: Array<Promise<unknown>> = [];
    await inTurn(6, async (i) => {
      visits.push(clients[i]!.run('a', () => served.push(i), { fair: i % 2 === 0 }));
      await bench.untilWaiting('a', i + 1);
    });
    await lock.release();
    await Promise.all(visits);
    expect(served).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('without fair: no client gets a second grant while another one has waited for more than one', async () => {
    const [holder, ...clients] = await bench.serviceList(4, { localHandoffs: 1 });
    const lock = await holder!.acquire('a');
    const served: string[] = [];
    // Of different sizes, so that they do not take turns by accident.
    const visits = [30, 10, 2].flatMap((size, client) =>
      Array.from({ length: size }, () => clients[client]!.run('a', () => served.push(`${client}`))),
    );
    await bench.untilWaiting('a', 3);
    await lock.release();
    await Promise.all(visits);
    expect(served).toHaveLength(42);
    const last = (name: string): number => served.lastIndexOf(name);
    // While another client waits as well, each other client has a turn between two turns of a client.
    const withAll = served.slice(0, last('2') + 1);
    for (const name of ['0', '1', '2']) for (const others of othersBetween(withAll, name)) expect(others).toBe(2);
    const withTwo = served.slice(last('2') + 1, last('1') + 1);
    for (const name of ['0', '1']) for (const others of othersBetween(withTwo, name)) expect(others).toBe(1);
  });

  it('keeps the order of the others if a waiter gives up', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { fair: true });
    const served: number[] = [];
    const visits: Array<Promise<unknown>> = [];
    const aborting = new AbortController();
    await inTurn(6, async (i) => {
      const signal = i % 2 === 0 ? aborting.signal : undefined;
      visits.push(unawaited(service.run('a', () => served.push(i), { fair: true, ...(signal && { signal }) })));
      await bench.untilWaiting('a', i + 1);
    });
    aborting.abort(new Error('enough'));
    await bench.untilWaiting('a', 3);
    await lock.release();
    await Promise.allSettled(visits);
    expect(served).toEqual([1, 3, 5]);
    await bench.untilNothingIsLeft();
  });

  it('skips a crashed waiter at the next unlock', async () => {
    const [holder, last] = await bench.serviceList(2);
    const worker = await bench.worker();
    const lock = await holder!.acquire('a', { fair: true });
    void unawaited(worker.acquire('a', { fair: true }));
    void unawaited(worker.acquire('a', { fair: true }));
    await bench.untilWaiting('a', 2);
    const waiting = timed(() => last!.acquire('a', { fair: true }));
    await bench.untilWaiting('a', 3);
    await worker.process.kill();
    await lock.release();
    const since = performance.now();
    expect((await waiting).value!.isHeld).toBe(true);
    expect(performance.now() - since).toBeLessThan(AT_ONCE);
  });

  it('re-enters by scope and by owner', async () => {
    const [service, other] = await bench.serviceList(2);
    await service!.run(
      'a',
      async (outer) => {
        const inner = await service!.acquire('a', { fair: true });
        expect([inner.fencingToken, inner.holdCount]).toEqual([outer.fencingToken, 2]);
        await inner.release();
      },
      { fair: true },
    );
    const lock = service!.getFairLock('a', { owner: 'me' });
    await lock.lock();
    await lock.lock();
    await other!.getFairLock('a', { owner: 'me' }).lock();
    expect(lock.getHoldCount()).toBe(2);
    expect((await other!.inspect('a'))!.holds).toBe(3);
  });
});

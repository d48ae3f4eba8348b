import { describe, expect, it } from '@jest/globals';
import { LockEngine } from '../../../lib/engine/lock-engine.js';
import { FakeClock, settled } from '../../../testbed/clocks/fake-clock.js';
import { contextOf, FakeStore, held, passing, queued, TERMS } from './support.js';

function setUp() {
  const clock = new FakeClock();
  const store = new FakeStore();
  const engine = new LockEngine(contextOf(store, clock));
  const acquire = (terms: object, waitTimeout = Infinity) => {
    const acquisition = engine.acquire({ ...TERMS, ...terms }, { waitTimeout, signal: undefined });
    acquisition.catch(() => undefined);
    return acquisition;
  };
  return { clock, store, engine, acquire };
}

const READ = { mode: { kind: 'read' }, renews: false } as const;
const PERMIT = { mode: { kind: 'permits', units: 1, limit: 1 } } as const;
const HOUR = 3_600_000;

describe('a hold that callers have shared', () => {
  /** A hold that the store keeps for an hour, with a second caller that has a lease of a second. */
  const shared = async () => {
    const parts = setUp();
    const { store, engine, acquire } = parts;
    const acquisition = acquire({ ...READ, lease: HOUR });
    store.acquires[0]!.answer.resolve(held(5, HOUR));
    const long = await acquisition;
    const short = await acquire({ ...READ, lease: 1_000 });
    expect(await engine.release(long)).toBe(true);
    expect(store.releases).toEqual([]);
    return { ...parts, short };
  };

  it.each(['released', 'lost'])('is released until that has succeeded, if the last of them is %s', async (how) => {
    const { clock, store, engine, short } = await shared();
    if (how === 'released') engine.release(short).catch(() => undefined);
    else await clock.pass(1_000);
    for (let i = 0; i < 60; i++) {
      expect(store.releases).toHaveLength(i + 1);
      store.releases[i]!.answer.reject(passing());
      await clock.pass(251);
    }
  });
});

describe('a waiter for permits behind a local holder', () => {
  it('times out although the store has not answered its new ticket', async () => {
    const { clock, store, acquire } = setUp();
    const first = acquire(PERMIT);
    store.acquires[0]!.answer.resolve(queued({ retryAfter: 60_000 }));
    await clock.pass(100);
    const second = acquire(PERMIT, 1_000);
    await clock.pass(950);
    const { id } = store.acquires[0]!.request;
    store.listener.granted({ key: 'a', id, token: 11, lease: 3_000, time: 51_050, batchSize: 1, units: 1 });
    await first;
    await settled();
    expect(store.acquires).toHaveLength(2);
    await clock.pass(60);
    await expect(second).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
  });
});

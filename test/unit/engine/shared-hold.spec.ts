import type { Hold } from '../../../lib/engine/hold.js';
import type { AcquireReply } from '../../../lib/store/lock-store.js';
import { engineBench, held, passing, queued, RELEASED, settled, deferred, type Deferred } from './support.js';
import { Releases } from '../../../lib/engine/releases.js';
import { readLockHealth } from '../../../lib/service/lock-health.js';

const READ = { mode: { kind: 'read' }, renews: false } as const;
const PERMIT = { mode: { kind: 'permits', units: 1, limit: 1 } } as const;
const HOUR = 3_600_000;

describe('a hold that callers have shared', () => {
  /** A hold that the store keeps for an hour, with a second caller that has a lease of a second. */
  const shared = async () => {
    const parts = engineBench();
    const { store, engine, acquire, answer } = parts;
    const acquisition = acquire({ ...READ, lease: HOUR });
    await answer(held(5, HOUR));
    const long = await acquisition;
    const short = await acquire({ ...READ, lease: 1_000 });
    expect(await engine.releases.release(long)).toBe(true);
    expect(store.releases).toEqual([]);
    return { ...parts, short };
  };

  it.each(['released', 'lost'])('is released until that has succeeded, if the last of them is %s', async (how) => {
    const { clock, store, engine, short } = await shared();
    if (how === 'released') Promise.resolve(engine.releases.release(short)).catch(() => undefined);
    else await clock.pass(1_000);
    for (let i = 0; i < 60; i++) {
      expect(store.releases).toHaveLength(i + 1);
      store.releases[i]!.reply.reject(passing());
      await clock.pass(251);
    }
  });

  it.each(['released', 'lost'])('leaves no queue behind, if the last of them is %s', async (how) => {
    const { clock, engine, short } = await shared();
    const { size: before } = Reflect.get(Reflect.get(engine, 'queues'), 'keys') as { size: number };
    if (how === 'released') Promise.resolve(engine.releases.release(short)).catch(() => undefined);
    else await clock.pass(1_000);
    const { size: after } = Reflect.get(Reflect.get(engine, 'queues'), 'keys') as { size: number };
    expect([before, after]).toEqual([1, 0]);
  });
});

describe('a reader whose lease was too short when it was lost', () => {
  /** A reader with a pushed grant of 3 s, whose renewal is not answered until that is over. */
  const lost = async () => {
    const parts = engineBench();
    const { clock, store, acquire, answer, push } = parts;
    const waiting = acquire({ ...READ, renews: true });
    await answer(queued({ retryAfter: 60_000 }));
    await clock.pass(10);
    push({ time: 50_010 });
    const hold = await waiting;
    await clock.pass(1_500);
    clock.advance(1_600);
    await settled();
    expect([hold.state, store.renewals.length, store.releases.length]).toEqual(['lost', 1, 0]);
    return { ...parts, hold };
  };

  it('leaves the store when it is released', async () => {
    const { clock, store, engine, hold } = await lost();
    expect(await engine.releases.release(hold)).toBe(false);
    expect(store.releases.map(({ request }) => request.id)).toEqual([hold.id]);
    clock.advance(40_000);
    await settled();
    expect(store.releases).toHaveLength(1);
  });

  it.each(['when its lease would have ended', 'at shutdown'])('leaves the store %s', async (when) => {
    const { clock, store, engine } = await lost();
    const closed = when === 'at shutdown' && engine.close(0);
    await clock.pass(closed ? 5 : 31_000);
    expect(store.releases).toHaveLength(1);
    store.releases[0]!.reply.resolve(RELEASED);
    await closed;
  });
});

describe('callers that share permits which the store does not know any more', () => {
  /** Callers with one permit each of one grant. */
  const sharing = async (count: number) => {
    const { store, acquire, engine, answer } = engineBench();
    const kept: Array<Deferred<number | 'not-held'>> = [];
    const keepUnits = () => {
      kept.push(deferred());
      return kept.at(-1)!;
    };
    Object.assign(store, { permits: { add: async () => 0, keepUnits } });
    const mode = { kind: 'permits', units: 1, limit: 9 } as const;
    const calls = Array.from({ length: count }, () => acquire({ mode }));
    await answer({ ...held(5, 30_000, 50_000, count), units: count } as AcquireReply);
    const holds = await Promise.all(calls);
    expect(store.acquires).toHaveLength(1);
    return { store, kept, holds, release: async (hold: Hold) => engine.releases.release(hold) };
  };

  it('all learn so if one of them keeps its permit', async () => {
    const { kept, holds, release } = await sharing(3);
    const released = holds.slice(1).map(release);
    kept[0]!.resolve('not-held');
    kept[1]!.resolve('not-held');
    expect(await Promise.all(released)).toEqual([false, false]);
    expect(holds[0]!.state).toBe('lost');
  });

  it.each([true, false])('learn so from the last release, which found a hold: %s', async (released) => {
    const { store, kept, holds, release } = await sharing(2);
    const both = holds.map(release);
    kept[0]!.resolve('not-held');
    await settled();
    store.releases[0]!.reply.resolve({ released, next: undefined });
    expect(await Promise.all(both)).toEqual([released, released]);
  });
});

it('later readers do not share the hold of readers before a writer of their client', async () => {
  const { clock, store, acquire, answer, push } = engineBench();
  const first = acquire(READ);
  await answer(queued({ retryAfter: 60_000 }));
  void acquire();
  await answer(queued({ retryAfter: 60_000 }));
  await clock.pass(10);
  push({ time: 50_010 });
  await first;
  void acquire(READ);
  await settled();
  expect(store.acquires.map(({ request }) => request.mode.kind)).toEqual(['read', 'exclusive', 'read']);
});

it('a waiter for permits behind a local holder times out although the store has not answered its new ticket', async () => {
  const { clock, store, acquire, answer, push } = engineBench();
  const first = acquire(PERMIT);
  await answer(queued({ retryAfter: 60_000 }));
  await clock.pass(100);
  const second = acquire(PERMIT, 1_000);
  await clock.pass(950);
  push({ time: 51_050, units: 1 });
  await first;
  await settled();
  expect(store.acquires).toHaveLength(2);
  await clock.pass(60);
  await expect(second).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
});

function setUpReleases() {
  const { clock, store, context } = engineBench();
  const sent: number[] = [];
  let isDown = true;
  const permits = {
    keepUnits: async ({ units }: { units: number }) => {
      sent.push(units);
      if (isDown) throw passing();
      return units;
    },
  };
  Object.assign(store, { permits });
  const units = new Releases(context);
  return { clock, sent, units, recover: () => (isDown = false) };
}

it('very many readers that share a hold are renewed and counted', async () => {
  const { clock, store, context, engine, acquire, take } = engineBench();
  const reader = { mode: { kind: 'read' } } as const;
  await take(reader);
  const count = 150_000;
  for (let i = 0; i < count; i += 1_000) await Promise.all(Array.from({ length: 1_000 }, () => acquire(reader)));
  expect(await readLockHealth(engine, context)).toMatchObject({ reachable: true, watchdogLag: 0, held: count + 1 });
  await clock.pass(10_000);
  expect(store.renewals[0]!.request).toEqual([{ key: 'a', id: 'me:1', lease: 30_000 }]);
});

it('one retry at a time says how many permits a hold still has', async () => {
  const { clock, sent, units, recover } = setUpReleases();
  const hold = { key: 'a', id: 'me:1', units: 5, isHeld: true };
  for (let i = 0; i < 4; i++) {
    hold.units -= 1;
    await expect(units.sendUnits(hold)).rejects.toThrow();
  }
  expect(sent.splice(0)).toEqual([4, 3, 2, 1]);
  await clock.pass(600);
  expect(sent.splice(0)).toEqual([1, 1]);
  recover();
  await clock.pass(600);
  expect(sent).toEqual([1]);
});

it('nothing is retried for a hold that has ended', async () => {
  const { clock, sent, units } = setUpReleases();
  const hold = { key: 'a', id: 'me:1', units: 1, isHeld: true };
  await expect(units.sendUnits(hold)).rejects.toThrow();
  hold.isHeld = false;
  await clock.pass(600);
  expect(sent).toEqual([1]);
});

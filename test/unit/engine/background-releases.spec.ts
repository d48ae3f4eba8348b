import type { Hold } from '../../../lib/engine/hold.js';
import { FakeClock, settled } from '../../../lab/testbed/clocks/fake-clock.js';
import { engineBench, held, NOT_HELD, passing, queued, RELEASED, TERMS, type Wanted } from './support.js';

/** Counts what keeps the process alive. */
class CountingClock extends FakeClock {
  keepers = 0;

  override keepAlive(): () => void {
    this.keepers += 1;
    return () => void (this.keepers -= 1);
  }
}

function setUp() {
  const clock = new CountingClock();
  const bench = engineBench({ clock });
  /** A hold whose grant is for `turns` callers. */
  const take = (turns = 16, terms?: Wanted): Promise<Hold> => bench.take(terms, turns);
  return { ...bench, clock, take };
}

it('a call that a listener aborts as it finds an idle hold lost does not wait', async () => {
  const { clock, engine, take } = setUp();
  const hold = await take();
  const controller = new AbortController();
  hold.onLost(() => controller.abort());
  void engine.releases.releaseInBackground(hold);
  clock.stall(40_000);
  const call = engine.acquire('a', TERMS, { waitTimeout: Infinity, signal: controller.signal });
  await expect(call).rejects.toBe(controller.signal.reason);
});

describe('a release in the background', () => {
  it('is sent in the same turn of the event loop, behind the code that awaits the call', async () => {
    const { engine, take, left } = setUp();
    const hold = await take();
    void engine.releases.releaseInBackground(hold);
    for (let microtask = 0; microtask < 100; microtask++) await Promise.resolve();
    expect(left()).toEqual([]);
    let turns = 0;
    setImmediate(() => (turns += 1));
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(turns).toBe(0);
    expect(left()).toEqual([hold.id]);
  });

  it('resolves to whether the hold was held, and a second release sends nothing', async () => {
    const { store, engine, take } = setUp();
    const hold = await take();
    const released = engine.releases.releaseInBackground(hold);
    await settled();
    expect(engine.releases.release(hold)).toBe(released);
    store.releases[0]!.reply.resolve(RELEASED);
    expect(await released).toBe(true);
    expect(store.releases).toHaveLength(1);
  });

  it('keeps the process alive until it is answered', async () => {
    const { clock, store, engine, take } = setUp();
    const hold = await take();
    const before = clock.keepers;
    void engine.releases.releaseInBackground(hold);
    await settled();
    expect(clock.keepers).toBe(before + 1);
    store.releases[0]!.reply.resolve(RELEASED);
    await settled();
    expect(clock.keepers).toBe(before);
  });

  it('fails with a warning and an event, and with no unhandled rejection', async () => {
    const { store, engine, take, warnings, events } = setUp();
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    const idle = await take();
    void engine.releases.releaseInBackground(idle);
    await settled();
    const alone = await take(1, { key: 'b' });
    void engine.releases.releaseInBackground(alone);
    for (const { reply } of store.releases) reply.reject(passing());
    await settled();
    await settled();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    expect(warnings).toEqual([
      "'a' could not be released, so the client tries again until its lease ends: the connection is lost",
      "'b' could not be released, so the client tries again until its lease ends: the connection is lost",
    ]);
    expect(events).toEqual(['acquired', 'acquired', 'unreleased', 'unreleased']);
  });

  it('that finds that the lock was lost publishes the event, and resolves to false', async () => {
    const { store, engine, take, events } = setUp();
    const hold = await take();
    const released = engine.releases.releaseInBackground(hold);
    await settled();
    store.releases[0]!.reply.resolve(NOT_HELD);
    expect(await released).toBe(false);
    await settled();
    expect(events).toEqual(['acquired', 'lost']);
  });

  it('of a hold whose lease is over is a loss at once', async () => {
    const { clock, engine, take } = setUp();
    const hold = await take(16, { lease: 1_000, renews: false });
    clock.stall(30_000);
    const released = engine.releases.releaseInBackground(hold);
    expect(hold.loss).toMatchObject({ code: 'LOCK_LOST' });
    expect(await released).toBe(false);
  });

  it('is waited for at shutdown', async () => {
    const { clock, store, engine, take } = setUp();
    const hold = await take();
    void engine.releases.releaseInBackground(hold);
    const closed = engine.close(8_000);
    await settled();
    expect(store.releases).toHaveLength(1);
    // Longer than a shutdown waits for the releases of holders that it has ended itself.
    await clock.pass(4_000);
    expect(store.closed).toBe(false);
    store.releases[0]!.reply.resolve(RELEASED);
    await closed;
    expect(store.closed).toBe(true);
  });
});

describe('a caller that asks for the key in the same turn', () => {
  it.each([Infinity, 0])('takes the lock over without a command, with the next token (wait: %j)', async (wait) => {
    const { store, engine, acquire, take, events } = setUp();
    const hold = await take();
    const released = engine.releases.releaseInBackground(hold);
    const next = await acquire({}, wait);
    expect(next.token).toBe(6);
    expect(next.id).toBe(hold.id);
    expect([hold.isHeld, next.isHeld]).toEqual([false, true]);
    expect(await released).toBe(true);
    // A release of the first hold has no effect on the second one.
    expect(await engine.releases.release(hold)).toBe(true);
    await settled();
    expect(next.isHeld).toBe(true);
    expect([store.acquires.length, store.releases.length]).toEqual([1, 0]);
    expect(events).toEqual(['acquired', 'released', 'acquired']);
  });

  it('does not take over a hold whose release was awaited', async () => {
    const { store, engine, acquire, take } = setUp();
    void engine.releases.release(await take());
    void acquire();
    expect([store.releases.length, store.acquires.length]).toEqual([1, 2]);
  });

  type SetUp = ReturnType<typeof setUp>;
  const refusals: Array<[string, (set: SetUp, hold: Hold) => unknown]> = [
    ['asks for a read lock', () => ({ mode: { kind: 'read' } })],
    ['names an owner', () => ({ owner: 'me' })],
    ['asks for a fair lock', () => ({ fair: true })],
    ['asks for holdAtLeast', () => ({ holdAtLeast: 100 })],
    ['asks for replicas', () => ({ replicas: { min: 1, timeout: 100 } })],
    ['comes after localHandoffTime', ({ clock }) => clock.stall(51)],
    ['comes after the store wanted the next turn elsewhere', ({ store }, { id }) => store.listener.yield(id)],
    ['comes while the client hears nothing', ({ store }) => void (store.listening = false)],
    ['comes after a reconnect', ({ store }) => void (store.epoch += 1)],
    ['comes when the owner of the hold is known', (_set, hold) => void hold.exposeOwner()],
    ['comes after a release by force', ({ store }, { id }) => store.listener.revoked(id)],
    ['comes when the lease is over', ({ clock }) => clock.stall(30_000)],
  ];
  it.each(refusals)('sends the release before its request if it %s', async (_when, change) => {
    const set = setUp();
    const { store, engine, acquire, take, left } = set;
    const hold = await take();
    void engine.releases.releaseInBackground(hold);
    const terms = change(set, hold) ?? {};
    void acquire(terms);
    expect(left()).toEqual([hold.id]);
    await settled();
    expect([store.acquires.length, hold.isHeld, left()]).toEqual([2, false, [hold.id]]);
  });

  it('sends the release before a request for several keys, before inspect and before forceRelease', async () => {
    const { store, engine, take } = setUp();
    const set = ['a', 'z'].map((key) => ({ key, terms: TERMS }));
    const calls = [
      () => engine.acquireAll(set, { waitTimeout: 0, signal: undefined }),
      () => engine.inspect('a'),
      () => engine.forceRelease('a'),
    ];
    for (const [i, call] of calls.entries()) {
      void engine.releases.releaseInBackground(await take());
      call().catch(() => undefined);
      expect(store.releases).toHaveLength(i + 1);
      store.releases[i]!.reply.resolve(RELEASED);
      await settled();
    }
  });
});

describe('one try of the client itself', () => {
  /** The store answers a try with a hold that the client has released, before it answers the release. */
  async function tryBehindRelease() {
    const bench = setUp();
    const hold = await bench.take();
    void bench.engine.releases.releaseInBackground(hold);
    await settled();
    const trying = bench.acquire({}, 0);
    await bench.answer(queued({ outcome: 'busy', holders: [hold.id] }));
    return { ...bench, trying };
  }

  it('asks again under another id behind its own release that the store had not executed yet', async () => {
    const { store, answer, trying } = await tryBehindRelease();
    expect(store.acquires).toHaveLength(2);
    store.releases[0]!.reply.resolve(RELEASED);
    await settled();
    expect(store.acquires[2]!.request.id).not.toBe(store.acquires[1]!.request.id);
    await answer(held(30, 30_000));
    expect((await trying).token).toBe(30);
  });

  it('fails as one without a reply if its own release gets none', async () => {
    const { clock, store, trying } = await tryBehindRelease();
    await clock.pass(300);
    await expect(trying).rejects.toMatchObject({ code: 'LOCK_STORE', transient: true });
    // A release that is answered late brings no request of a caller that has gone.
    store.releases[0]!.reply.resolve(RELEASED);
    await settled();
    expect(store.acquires).toHaveLength(2);
  });
});

it('a second release after a local handoff resolves, sends nothing, and leaves the hold of the successor', async () => {
  const { engine, acquire, take, left } = setUp();
  const hold = await take();
  const waiting = acquire();
  expect(engine.releases.release(hold)).toBe(true);
  const next = await waiting;
  expect(await engine.releases.release(hold)).toBe(true);
  expect(await engine.releases.releaseInBackground(hold)).toBe(true);
  await settled();
  expect([next.isHeld, left()]).toEqual([true, []]);
  expect(await Promise.race([engine.releases.release(next), settled().then(() => 'sent')])).toBe('sent');
  expect(left()).toEqual([next.id]);
});

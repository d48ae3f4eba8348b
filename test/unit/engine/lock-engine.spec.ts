import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { readLockHealth } from '../../../lib/service/lock-health.js';
import type { HeldReply } from '../../../lib/store/lock-store.js';
import { busy, engineBench, held, NOT_HELD, passing, queued, RELEASED, TERMS, deferred, settled } from './support.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

const SET = ['a', 'b'].map((key) => ({ key, terms: TERMS }));

/** The ids that are under way in one step. */
const setIdsOf = (engine: LockEngine) => (Reflect.get(engine, 'tickets') as { setIds: Set<string> }).setIds;

it('a caller that an observer aborts at its first event gets no timeout later', async () => {
  const { signal, abort } = abortable();
  const { clock, acquire, take, events } = engineBench({
    onEvent: (type) => {
      if (type === 'contended') abort();
    },
  });
  await take();
  await expect(acquire({}, 100, signal)).rejects.toBe(signal.reason);
  await clock.pass(200);
  expect(events).toEqual(['acquired', 'contended']);
});

describe('grants without a waiter', () => {
  it('are released', () => {
    const { store, push } = engineBench();
    push({ id: 'me:99' });
    expect(store.releases.map(({ request }) => request)).toEqual([
      { key: 'a', id: 'me:99', tombstoneFor: 0, keep: 0, next: undefined },
    ]);
  });

  it('are released after a pending release that would find nothing', async () => {
    const { store, engine, acquire, answer, left } = engineBench();
    const acquisition = acquire();
    // The connection was lost: it is asked once more, and both requests are answered.
    store.listener.restored();
    await settled();
    await answer(held(5, 30_000), 0);
    const hold = await acquisition;
    const released = engine.releases.release(hold);
    await answer(held(5, 30_000), 1);
    expect(left()).toEqual([hold.id]);
    store.releases[0]!.reply.resolve(RELEASED);
    expect(await released).toBe(true);
    await settled();
    expect(left()).toEqual([hold.id, hold.id]);
  });

  it('are ignored if they repeat a held one', async () => {
    const { take, push, left } = engineBench();
    const hold = await take();
    push({ id: hold.id });
    expect(left()).toEqual([]);
    expect(hold.isHeld).toBe(true);
  });

  it('are released if the store names them as holders', async () => {
    const { acquire, take, answer, left } = engineBench();
    await take({ key: 'b' });
    void acquire();
    await answer(queued({ holders: ['me:77', 'me:1', 'you:5'] }));
    expect(left()).toEqual(['me:77']); // me:1 is held, of another key; you:5 is another client's
  });

  it('are not released again while their release is under way', async () => {
    const { store, engine, acquire, take, answer, left } = engineBench();
    const hold = await take();
    const released = engine.releases.release(hold);
    void acquire();
    await answer(queued({ holders: [hold.id] }));
    expect(left()).toEqual([hold.id]);
    store.releases[0]!.reply.resolve(RELEASED);
    expect(await released).toBe(true);
    await settled();
    expect(left()).toEqual([hold.id]);
  });
});

describe('waiters of one client for one key', () => {
  it('inherit the place of the first one if it gives up', async () => {
    const { clock, acquire, answer, push, left } = engineBench();
    const first = acquire({}, 50);
    const second = acquire();
    await answer(queued());
    await clock.pass(50);
    await expect(first).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(left()).toEqual([]);
    push();
    expect((await second).id).toBe('me:1');
  });

  it('learn that the key was held, even while the reply to a release with their request is pending', async () => {
    const { clock, store, engine, acquire, take } = engineBench();
    const first = await take();
    const second = acquire({}, 100);
    await clock.pass(50);
    void engine.releases.release(first);
    const third = acquire({}, 50); // it is unknown whether the key has been free since it came
    await clock.pass(50);
    await expect(second).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    const refused = expect(third).rejects.toMatchObject({ code: 'LOCK_STORE', transient: true });
    await clock.pass(250);
    await refused;
    expect(store.acquires).toHaveLength(1);
  });

  it('learn that the store failed, no matter which client held the key', async () => {
    const { clock, store, engine, acquire, take } = engineBench();
    const first = await take();
    const second = acquire({}, 100);
    Promise.resolve(engine.releases.release(first)).catch(() => undefined);
    store.releases[0]!.reply.reject(passing());
    await clock.pass(100);
    await expect(second).rejects.toMatchObject({ code: 'LOCK_STORE' });
  });

  it('learn that the store has failed since its last reply', async () => {
    const { clock, store, acquire, answer } = engineBench();
    const waiting = acquire({}, 100);
    await answer(queued({ retryAfter: 60 }));
    await clock.pass(60);
    store.acquires[1]!.reply.reject(passing());
    await clock.pass(40);
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_STORE', message: passing().message });
  });

  it('send a request after the previous holder has lost the lock', async () => {
    const { clock, store, acquire, take, answer } = engineBench();
    const first = await take({ renews: false, lease: 1_000 });
    const second = acquire();
    await clock.pass(988);
    expect(first.state).toBe('lost');
    expect(store.acquires).toHaveLength(2);
    await answer(held(6, 30_000));
    expect((await second).isHeld).toBe(true);
  });

  it('do not share a ticket with owners and single tries', async () => {
    const { store, acquire } = engineBench();
    void acquire();
    void acquire({ owner: 'one' });
    void acquire({ owner: 'other' });
    void acquire({}, 0);
    expect(store.acquires.map(({ request }) => [request.owner, request.waits])).toEqual([
      [undefined, true],
      ['one', true],
      ['other', true],
      [undefined, false],
    ]);
  });
});

it('a late grant is released, and requested again', async () => {
  const { clock, store, acquire, answer, left } = engineBench();
  void acquire({ lease: 1_000 });
  clock.advance(1_200);
  await answer(held(5, 1_000));
  expect(left()).toEqual(['me:1']);
  expect(store.acquires[1]!.request.id).toBe('me:2');
});

describe('a release', () => {
  it('whose reply was lost with the connection counts as one', async () => {
    const { store, engine, take } = engineBench();
    const hold = await take();
    const released = engine.releases.release(hold);
    store.epoch += 1;
    store.releases[0]!.reply.resolve(NOT_HELD);
    expect(await released).toBe(true);
    expect(hold.loss).toBeUndefined();
  });

  it('keeps the key locked for that time, too, if it has failed and a reply names its hold', async () => {
    const { store, engine, acquire, take, answer } = engineBench();
    const hold = await take({ holdAtLeast: 900 });
    const released = engine.releases.release(hold);
    store.releases[0]!.reply.reject(passing());
    await expect(released).rejects.toThrow('the connection is lost');
    void acquire();
    await answer(queued({ holders: [hold.id] }));
    expect(store.releases[1]!.request).toEqual(store.releases[0]!.request);
  });

  it('keeps the key locked no longer if it is repeated', async () => {
    const { clock, store, engine, take } = engineBench();
    const released = engine.releases.release(await take({ holdAtLeast: 1_000 }));
    await clock.pass(600);
    store.releases[0]!.reply.reject(passing());
    await expect(released).rejects.toThrow('the connection is lost');
    await clock.pass(250);
    expect(store.releases.map(({ request }) => request.keep)).toEqual([1_000, 150]);
    store.releases[1]!.reply.reject(passing());
    await clock.pass(250);
    expect(store.releases[2]!.request.keep).toBe(0);
  });
});

describe('a reconnect', () => {
  it('renews holds first, and then retries for waiters', async () => {
    const { store, acquire, take, answer } = engineBench();
    await take({ key: 'b' });
    void acquire();
    await answer(queued());
    const before = store.order.length;
    store.epoch += 1;
    store.listener.restored();
    await settled();
    expect(store.order.slice(before)).toEqual(['renew', 'acquire']);
    expect(store.renewals.map(({ request }) => request[0]!.key)).toEqual(['b']);
    expect(store.acquires.at(-1)!.request).toMatchObject({ key: 'a', id: 'me:2' });
  });

  it('that concerns some keys retries for their waiters only, and renews nothing', async () => {
    const { store, acquire, take, answer } = engineBench();
    await take({ key: 'b' });
    for (const key of ['a', 'c']) {
      void acquire({ key });
      await answer(queued());
    }
    const before = store.order.length;
    store.listener.restored((key) => key === 'c');
    await settled();
    expect(store.order.slice(before)).toEqual(['acquire']);
    expect(store.acquires.at(-1)!.request.key).toBe('c');
  });

  it('does not retry for a waiter that gives up at the same moment', async () => {
    const { store, acquire, answer } = engineBench();
    const { signal, abort } = abortable();
    void acquire({}, Infinity, signal);
    await answer(queued());
    store.listener.restored();
    abort();
    await settled();
    expect(store.acquires).toHaveLength(1);
  });
});

describe('a timeout', () => {
  it('names the option, and not the time that the timer took', async () => {
    const { clock, acquire, answer } = engineBench();
    const waiting = acquire({}, 10_000);
    await answer(queued({ retryAfter: 60_000 }));
    clock.stall(12_345);
    await clock.pass(1);
    await expect(waiting).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: "'a' was held by other callers for the whole waitTimeout of 10000 ms",
    });
  });

  it('does not say that others held the key if requests have split the masters', async () => {
    const { clock, acquire, answer } = engineBench();
    const split = (retryAfter: number) => queued({ retryAfter, isSplit: true });
    const waiting = acquire({}, 100);
    await answer(split(50));
    const other = acquire({ key: 'b' }, 100);
    await answer(split(50));
    await clock.pass(50);
    await answer(split(1_000), 2);
    await answer(queued(), 3);
    await clock.pass(50);
    await expect(waiting).rejects.toEqual(
      lockError(
        'LOCK_TIMEOUT',
        /^no request for 'a' got a majority within its waitTimeout of 100 ms: .* split the masters\. Retry$/,
      ),
    );
    await expect(other).rejects.toThrow("'b' was held by other callers for the whole waitTimeout of 100 ms");
  });

  it('says so if this process itself holds the key', async () => {
    const { clock, acquire, take, answer } = engineBench();
    await take({ key: 'b' });
    const { id } = await take({ key: 'a' });
    const waiting = acquire({}, 50);
    const single = acquire({}, 0);
    await answer({ ...busy(), holders: ['other:1', id] });
    const other = acquire({ key: 'c' }, 0);
    await answer({ ...busy(), holders: ['other:1'] });
    await clock.pass(50);
    await expect(waiting).rejects.toThrow('waitTimeout of 50 ms (in this process)');
    await expect(single).rejects.toThrow("'a' is held by another caller (in this process)");
    await expect(other).rejects.toThrow(/^'c' is held by another caller$/);
  });
});

it('counts the reply to a verify from when the request was sent, also for the next local waiter', async () => {
  const { clock, store, engine, acquire, answer } = engineBench();
  const granted = acquire({ lease: 1_000 });
  await answer(held(5, 1_000, 50_000, 2));
  const hold = await granted;
  const end = clock.now() + 1_000;
  const waiting = acquire({ lease: 1_000 });
  const verified = engine.leases.verify(hold);
  await clock.pass(40);
  store.renewals[0]!.reply.resolve([1_000]);
  await verified;
  void engine.releases.release(hold);
  const next = await waiting;
  expect(next.token).toBe(6);
  expect(next.validUntil).toBeLessThan(end);
});

it('asks soon for an extension if a reply of another server has overtaken its reply', async () => {
  const { clock, store, engine, take } = engineBench();
  const hold = await take({ renews: false });
  await clock.pass(20_000);
  const extended = engine.leases.extend(hold, 90_000);
  // As in a Cluster after a failover, where each command is sent again by itself.
  store.epoch += 1;
  engine.watchdog.renewNow([hold]);
  await clock.pass(100);
  store.renewals[1]!.reply.resolve([9_900]);
  await settled();
  store.renewals[0]!.reply.resolve([90_000]);
  await extended;
  for (let i = 0; i < 60 && store.renewals.length < 3; i += 1) await clock.pass(100);
  expect(hold.remaining).toBeGreaterThan(3_000);
  const { request, reply } = store.renewals[2]!;
  expect(request[0]!.lease).toBeGreaterThan(80_000);
  reply.resolve([request[0]!.lease]);
  await clock.pass(60_000);
  expect(hold.isHeld).toBe(true);
});

it('a renewal that an extend has moved is not late', async () => {
  const { clock, store, context, engine, take } = engineBench();
  const extended = engine.leases.extend(await take(), 60_000);
  store.renewals[0]!.reply.resolve([60_000]);
  await extended;
  const lags: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    await clock.pass(9_000);
    lags.push((await readLockHealth(engine, context)).watchdogLag);
  }
  expect(store.renewals.length).toBe(2);
  expect(lags.slice(0, 4)).toEqual([0, 0, 0, 0]);
  expect(lags[4]).toBeGreaterThan(4_000);
});

it('hands a lock to no local waiter once a reply names a holder in another client', async () => {
  const { acquire, take, answer } = engineBench();
  const hold = await take({}, 16);
  void acquire();
  void acquire({ owner: 'one' }, 0);
  await answer({ ...busy(), holders: ['other:1'] });
  expect(hold.grant.users!.handOff(hold)).toBe(false);
});

it('an unreachable store fails single tries at once, and waiters after commandTimeout or waitTimeout', async () => {
  const { clock, store, acquire, answer } = engineBench();
  const first = acquire();
  let told = 0;
  first.catch(() => (told = clock.now()));
  await answer(queued({ retryAfter: 100 }));
  store.unreachable = passing();
  const since = clock.now();
  const ended = new Map<number, number>();
  const calls = [Infinity, 10_000, 1_000, 0].map((waitTimeout) =>
    [{ key: 'b' }, { key: 'c', fair: true }, { key: 'd', owner: 'one' }].map(async (terms) => {
      const { message } = store.unreachable!;
      await expect(acquire(terms, waitTimeout)).rejects.toMatchObject({ key: terms.key, message });
      ended.set(waitTimeout, clock.now() - since);
    }),
  );
  await clock.pass(6_000);
  await Promise.all(calls.flat());
  await expect(first).rejects.toMatchObject({ key: 'a', message: store.unreachable.message });
  expect(told - since).toBeGreaterThan(4_900);
  for (const endless of [Infinity, 10_000]) expect(ended.get(endless)).toBeGreaterThan(4_800);
  expect(ended.get(1_000)).toBeGreaterThanOrEqual(1_000);
  expect(ended.get(1_000)).toBeLessThan(1_300);
  expect(ended.get(0)).toBeLessThan(10);
  expect(store.acquires).toHaveLength(1);
});

describe('several keys that are requested in one step', () => {
  /**
   * The first request was executed, and is asked again on a new connection, behind that of a waiter for one of the
   * keys.
   */
  async function withWaiter() {
    const { store, engine, acquire, answer, left } = engineBench();
    const reply = deferred<readonly HeldReply[] | undefined>();
    store.acquireAll = () => reply;
    const { signal, abort } = abortable();
    const all = engine.acquireAll(SET, { waitTimeout: Infinity, signal });
    all.catch(() => undefined);
    void acquire({ key: 'b' });
    const findHolder = () => answer(queued({ holders: ['me:2'] }));
    return { all, reply, abort, findHolder, left, engine };
  }

  it('are not released by a waiter that finds them held before their reply', async () => {
    const { all, reply, findHolder, left, engine } = await withWaiter();
    await findHolder();
    expect(left()).toEqual([]);
    reply.resolve([held(5, 30_000), held(6, 30_000)] as HeldReply[]);
    expect((await all).map(({ id, isHeld }) => [id, isHeld])).toEqual([
      ['me:1', true],
      ['me:2', true],
    ]);
    expect(setIdsOf(engine).size).toBe(0);
  });

  it('are released by a waiter that finds them held after they were given up', async () => {
    const { abort, findHolder, left, engine } = await withWaiter();
    abort();
    await settled();
    expect(left()).toEqual(['me:1', 'me:2']);
    await findHolder();
    expect(left()).toEqual(['me:1', 'me:2', 'me:2']);
    expect(setIdsOf(engine).size).toBe(0);
  });

  it('are asked for one by one if the store has no single step, even if the time of the call is over by then', async () => {
    const { clock, store, engine, answer } = engineBench();
    const noStep = deferred<undefined>();
    store.acquireAll = () => noStep;
    const all = engine.acquireAll(SET, { waitTimeout: 1, signal: undefined });
    await clock.pass(2);
    noStep.resolve(undefined);
    for (const i of [0, 1]) {
      await settled();
      await answer(held(5, 30_000), i);
    }
    expect((await all).map(({ key }) => key)).toEqual(['a', 'b']);
  });
});

describe('several keys that are requested one by one in a single try', () => {
  /** One key is still held by a call of this client that the client has released, so the try waits for that release. */
  async function afterRelease(meanwhile: (abort: () => void, engine: LockEngine) => void) {
    const { store, engine, take } = engineBench();
    void engine.releases.release(await take());
    store.acquireAll = async () => ({ outcome: 'busy', key: 'a', holders: ['me:1'] });
    const { signal, abort } = abortable();
    const all = engine.acquireAll(SET, { waitTimeout: 0, signal });
    let isOver = false;
    all.catch(() => (isOver = true));
    await settled();
    meanwhile(abort, engine);
    await settled();
    expect(isOver).toBe(true);
    store.releases[0]!.reply.resolve(RELEASED);
    await settled();
    expect(store.acquires).toHaveLength(1);
    return { all, signal };
  }

  it('are not requested once the caller has aborted, which ends the call at once', async () => {
    const { all, signal } = await afterRelease((abort) => abort());
    await expect(all).rejects.toBe(signal.reason);
  });

  it('are not requested once the application shuts down, which ends the call at once', async () => {
    const { all } = await afterRelease((_abort, engine) => engine.stopWaiting());
    await expect(all).rejects.toThrow('the application is shutting down');
  });
});

describe('a lock that the first of two callers releases', () => {
  it.each([
    [true, 'no other client has asked for it', ['held']],
    [false, 'a message to yield comes before the reply that is the grant', ['yield', 'held']],
    [false, 'a message to yield comes before a pushed grant', ['queued', 'yield', 'pushed']],
    [false, 'a message to yield comes behind a pushed grant, before the reply', ['pushed', 'yield', 'queued']],
    [false, 'a message to yield comes behind the grant', ['held', 'yield']],
    [true, 'another acquisition is to yield', ['another yields', 'held']],
  ])('goes to the second one (%j) if %s', async (isHandedOn, _when, happens) => {
    const { clock, store, engine, acquire, answer, push, left } = engineBench();
    const steps: Record<string, () => unknown> = {
      held: () => answer(held(5, 30_000, 50_000, 16)),
      queued: () => answer(queued()),
      pushed: () => push({ time: 50_000 + clock.now() - 1_000, batchSize: 16 }),
      yield: () => store.listener.yield('me:1'),
      'another yields': () => store.listener.yield('me:2'),
    };
    const [first, second] = [acquire(), acquire()];
    let isServed = false;
    void second.then(() => (isServed = true));
    for (const step of happens) {
      clock.advance(100);
      await steps[step]!();
    }
    void engine.releases.release(await first);
    await settled();
    expect([isServed, left()]).toEqual([isHandedOn, isHandedOn ? [] : ['me:1']]);
  });
});

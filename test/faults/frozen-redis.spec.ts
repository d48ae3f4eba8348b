import { abortOf, leaseEnd, LockBench, timed, eventually } from '../../lab/testbed/locks/locks.js';

/** By how much a wait may end late, on a machine that has other things to do. */
const LATE = 1_000;
/** By how much a timer may be late in this process: the signal comes by one, `isHeld` does not need it. */
const LATE_TIMER = 1_000;
const LEASE = 1_000;

const bench = new LockBench({ records: true, leavesNothing: true });

interface Freeze {
  /** Answers no client from now on, for `ms` milliseconds at least. */
  freeze(ms: number): Promise<unknown>;
  /** Resolves when every client is answered again. */
  thaw(): Promise<unknown>;
}

const freezes: Array<[string, Freeze]> = [
  ['SIGSTOP', { freeze: () => bench.redis.pause(), thaw: () => bench.redis.resume() }],
  // Nothing ends such a pause before its time: not even CLIENT UNPAUSE is executed.
  [
    'CLIENT PAUSE',
    { freeze: (ms) => bench.redis.admin.client('PAUSE', ms, 'ALL'), thaw: () => bench.redis.admin.ping() },
  ],
];

describe.each(freezes)('while Redis is frozen by %s', (_, { freeze, thaw }) => {
  it('ends every wait on time, with what is known of the lock', async () => {
    const [one, other] = await bench.pair({ commandTimeout: 700 });
    const held = await one.acquire('held', { expire: 30_000 });
    const giveUp = new AbortController();
    const queued = timed(other.acquire('held', { waitTimeout: 1_000 }));
    const aborted = other.acquire('held', { owner: 'me', signal: giveUp.signal });
    await eventually(async () => (await one.inspect('held'))?.waiters.length === 2);
    await freeze(4_000);
    const since = performance.now();
    giveUp.abort(new Error('enough'));
    const byAbort = await timed(aborted);
    const asked = {
      waits: timed(other.acquire('free', { waitTimeout: 300 })),
      waitsLong: timed(other.acquire('free', { owner: 'me', waitTimeout: 60_000 })),
      tries: timed(other.tryAcquire('free')),
      triesSeveral: timed(other.tryAcquire(['free', 'also free'])),
      verifies: timed(held.verify()),
      counts: timed(other.getCountDownLatch('free').getCount()),
      surveys: timed(other.getLock('free').isLocked()),
      inspects: timed(other.inspect('free')),
      // For a key that no caller uses afterwards: it releases the lock of any holder, even if it arrives late.
      forces: timed(other.forceRelease('forced')),
    };
    const inQueue = await queued;
    // It was held by others as far as the client knows: the last answer said so.
    expect(['LOCK_TIMEOUT', 'LOCK_STORE']).toContain(inQueue.error.code);
    expect(inQueue.ran).toBeLessThan(1_000 + LATE);
    expect(byAbort.error).toBe(giveUp.signal.reason);
    expect(byAbort.ran).toBeLessThan(LATE);
    // The client cannot know whether it is free, which is not the same as held by others.
    expect(await asked.waits).toMatchObject({ error: { code: 'LOCK_STORE' } });
    expect((await asked.waits).took).toBeGreaterThanOrEqual(250);
    expect((await asked.waits).ran).toBeLessThan(300 + LATE);
    const keys = { verifies: 'held', forces: 'forced' };
    for (const [name, call] of Object.entries(asked).slice(1)) {
      const { error, took } = await call;
      const key = keys[name as keyof typeof keys] ?? 'free';
      expect([name, error?.code, error?.key]).toEqual([name, 'LOCK_STORE', key]);
      // A waiter may ask a second time before it gives up.
      const bound = name === 'waitsLong' ? 2 * 700 + LATE : 700 + LATE;
      expect([name, took < bound]).toEqual([name, true]);
    }
    expect(performance.now() - since).toBeLessThan(2 * 700 + LATE);

    await thaw();
    // Late commands are executed now: no client is granted a lock for which it no longer waits.
    const lock = await one.acquire('free', { waitTimeout: 3_000 });
    expect(await lock.release()).toBe(true);
    await one.forceRelease('held');
  });

  it('notifies holders before their leases end, and does not restore their holds', async () => {
    const [one, other] = [await bench.service({ renewedLease: LEASE }), await bench.service()];
    const handles = {
      fixed: await one.acquire('fixed', { expire: LEASE }),
      renewed: await one.acquire('renewed'),
    };
    const aborted = { fixed: abortOf(handles.fixed.signal), renewed: abortOf(handles.renewed.signal) };
    const end = await leaseEnd(bench.redis, 'fixed');
    // The validity ends before the lease does, and the signal fires at the end of the validity.
    const validUntil = performance.now() + handles.fixed.remainingTime();
    expect(validUntil).toBeLessThan(end);
    const waiting = other.acquire('renewed', { waitTimeout: 20_000 });
    await eventually(() => bench.told('contended').length > 0);
    await freeze(LEASE + 300);
    for (const name of ['fixed', 'renewed'] as const) {
      const at = await aborted[name];
      if (name === 'fixed') expect(at).toBeLessThan(validUntil + LATE_TIMER);
      expect(handles[name].signal.reason).toMatchObject({ code: 'LOCK_LOST', key: name });
      expect(handles[name].isHeld).toBe(false);
      expect(() => handles[name].assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
    }
    expect(bench.told('acquired').map(({ key }) => key)).toEqual(['fixed', 'renewed']);

    await thaw();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(handles.renewed.fencingToken);
    expect(await handles.renewed.release()).toBe(false);
    expect(await handles.fixed.release()).toBe(false);
    await next.verify();
    expect(await next.release()).toBe(true);
  });
});

import { Admission } from '../../../lib/engine/admission.js';
import { Latches } from '../../../lib/engine/latches.js';
import type { LockStoreError } from '../../../lib/errors/index.js';
import type { CountDownReply, LatchCount, LatchStore } from '../../../lib/store/latch-store.js';
import { contextOf, FakeStore, lasting, passing, deferred, type Deferred, FakeClock, settled } from './support.js';

type Request = { key: string; patience: number; seen: readonly string[]; reply: Deferred<LatchCount> };

class FakeLatches implements LatchStore {
  readonly requests: Request[] = [];
  readonly ids: string[] = [];
  setCount = async (): Promise<boolean> => true;
  delete = async (): Promise<boolean> => true;
  replicate = async (): Promise<number> => 0;

  async countDown(_key: string, id: string): Promise<CountDownReply> {
    this.ids.push(id);
    return { left: 1, counted: true };
  }

  count(key: string, patience: number, seen: readonly string[]): Promise<LatchCount> {
    const reply = deferred<LatchCount>();
    this.requests.push({ key, patience, seen, reply });
    return reply;
  }
}

/** There is no latch; the named ones have opened. */
const open = (...opened: string[]): LatchCount => ({ left: 0, latch: '', opened });
const closed = (latch: string, ...opened: string[]): LatchCount => ({ left: 1, latch, opened });
const PERIOD = 3_000;
const COMMAND_TIMEOUT = 1_000;

function setUp() {
  const clock = new FakeClock();
  const store = new FakeStore();
  const fake = new FakeLatches();
  const context = contextOf(store, clock, { limits: { commandTimeout: COMMAND_TIMEOUT } });
  const admission = new Admission(context);
  const latches = new Latches(context, fake, admission);
  /** How a wait has ended, if it has. */
  const wait = (options: { waitTimeout?: number; signal?: AbortSignal } = {}) => {
    const outcome: { value?: boolean; error?: any } = {};
    latches.wait('a', { waitTimeout: Infinity, signal: undefined, ...options }).then(
      (value) => (outcome.value = value),
      (error: unknown) => (outcome.error = error),
    );
    return outcome;
  };
  /** Waits, and comes back when the store has been asked. */
  const begin = async (options?: Parameters<typeof wait>[0]) => {
    const outcome = wait(options);
    await settled();
    return outcome;
  };
  const answer = async (count: LatchCount): Promise<void> => {
    fake.requests.at(-1)!.reply.resolve(count);
    await settled();
  };
  const fail = async (error: LockStoreError): Promise<void> => {
    fake.requests.at(-1)!.reply.reject(error);
    await settled();
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settled();
  };
  const asked = (): number => fake.requests.length;
  return { clock, store, fake, admission, latches, wait, begin, answer, fail, pass, asked };
}

describe('waiting for a latch', () => {
  it('asks at once, then each period, for all waiters together', async () => {
    const { clock, wait, answer, asked, fake } = setUp();
    const outcomes = [wait()];
    await settled();
    expect(asked()).toBe(1);
    expect(fake.requests[0]).toMatchObject({ key: 'a', patience: 2 * PERIOD + COMMAND_TIMEOUT });
    outcomes.push(wait(), wait(), wait());
    await answer(closed('x'));
    // A reply that may be older says nothing to waiters that came meanwhile.
    expect(asked()).toBe(2);
    await answer(closed('x'));
    clock.advance(PERIOD - 1);
    expect(asked()).toBe(2);
    clock.advance(1);
    expect(asked()).toBe(3);
    expect(fake.requests[2]!.seen).toEqual(['x']);
    await answer(open('x'));
    expect(outcomes.map(({ value }) => value)).toEqual([true, true, true, true]);
    clock.advance(10 * PERIOD);
    expect(asked()).toBe(3);
    expect(clock.timers.size).toBe(0);
  });

  it('ignores a reply to a request from before the waiter came', async () => {
    const { wait, begin, answer, asked } = setUp();
    const first = await begin();
    const second = wait();
    await answer(open());
    expect(first.value).toBe(true);
    expect(second.value).toBeUndefined();
    expect(asked()).toBe(2);
    await answer(closed('x'));
    expect(second.value).toBeUndefined();
  });

  it('ends by the message about the latch that it has seen, and by no other', async () => {
    const { latches, begin, answer, asked } = setUp();
    const outcome = await begin();
    await answer(closed('y'));
    latches.opened('a', 'x');
    latches.opened('b', 'y');
    await settled();
    expect(outcome).toEqual({});
    latches.opened('a', 'y');
    await settled();
    expect(outcome).toEqual({ value: true });
    expect(asked()).toBe(1);
  });

  it('does not miss a message that comes before the reply', async () => {
    const { latches, begin, answer, asked } = setUp();
    const outcome = await begin();
    latches.opened('a', 'x');
    await answer(closed('x'));
    expect(asked()).toBe(2);
    await answer(open('x'));
    expect(outcome.value).toBe(true);
  });

  it('reports a missing latch as opened only if the store remembers it', async () => {
    const { clock, wait, answer, fake } = setUp();
    const [one, other] = [wait(), wait()];
    await settled();
    await answer(closed('x'));
    await answer(closed('x'));
    clock.advance(PERIOD);
    await answer(open());
    for (const outcome of [one, other]) expect(outcome.error).toMatchObject({ code: 'LOCK_LATCH_LOST', key: 'a' });
    expect(clock.timers.size).toBe(0);
    expect(fake.requests.map(({ seen }) => seen)).toEqual([[], ['x'], ['x']]);
  });

  it('reports a latch as lost if another one has taken its place, once', async () => {
    const { begin, answer, fake } = setUp();
    const first = await begin();
    await answer(closed('x'));
    // This client has seen the first latch closed, so that one counts for a later waiter as well.
    const second = await begin();
    await answer(closed('y'));
    for (const outcome of [first, second]) expect(outcome.error).toMatchObject({ code: 'LOCK_LATCH_LOST' });
    const third = await begin();
    await answer(closed('y'));
    const fourth = await begin();
    expect(fake.requests.at(-1)!.seen).toEqual(['y']);
    await answer(closed('z', 'y'));
    expect(third.value).toBe(true);
    expect(fourth).toEqual({});
  });

  it('asks at once when the store receives messages again', async () => {
    const { latches, begin, answer, asked } = setUp();
    await begin();
    latches.askNow();
    expect(asked()).toBe(1);
    await answer(closed('x'));
    expect(asked()).toBe(2);
    await answer(closed('x'));
    latches.askNow();
    expect(asked()).toBe(3);
  });

  it('retries after a transient failure, and reports a permanent one', async () => {
    const { clock, begin, answer, fail, asked } = setUp();
    const outcome = await begin();
    await fail(passing());
    clock.advance(50);
    expect(asked()).toBe(2);
    await answer(closed('x'));
    clock.advance(PERIOD);
    const error = lasting();
    await fail(error);
    expect(outcome.error).toMatchObject({ key: 'a', message: error.message, transient: false });
    expect(clock.timers.size).toBe(0);
  });

  it('gives up after the store has failed for commandTimeout', async () => {
    const { clock, begin, fail, asked } = setUp();
    const outcome = await begin();
    while (outcome.error === undefined) {
      await fail(passing());
      clock.advance(50);
    }
    expect(asked()).toBe(COMMAND_TIMEOUT / 50);
    expect(outcome.error).toMatchObject({ code: 'LOCK_STORE' });
  });

  it('returns false only if the latch is known to be closed', async () => {
    const { wait, begin, answer, fail, pass } = setUp();
    const [early, known, failing] = [wait({ waitTimeout: 10 }), wait({ waitTimeout: 20 }), wait({ waitTimeout: 70 })];
    await pass(10);
    expect(early).toEqual({});
    await answer(closed('x'));
    await answer(closed('x'));
    expect(early).toEqual({ value: false });
    await pass(10);
    expect(known).toEqual({ value: false });
    await begin();
    const error = passing();
    await fail(error);
    await pass(49);
    await pass(1);
    expect(failing.error).toBe(error);
  });

  it.each([0, 10])('waits at least 250 ms for the first reply, with a waitTimeout of %i ms', async (waitTimeout) => {
    const { wait, pass } = setUp();
    const outcome = wait({ waitTimeout });
    await pass(waitTimeout);
    await pass(249 - waitTimeout);
    expect(outcome).toEqual({});
    await pass(3);
    expect(outcome.error).toMatchObject({ code: 'LOCK_STORE', key: 'a', transient: true });
  });

  it('sends no request to an unreachable store', async () => {
    const { store, fake, wait, begin, asked, answer, latches, pass } = setUp();
    const waiting = await begin();
    await answer(closed('x'));
    store.unreachable = passing();
    expect(asked()).toBe(1);
    const late = wait();
    const single = await begin({ waitTimeout: 0 });
    expect(late.error).toBeUndefined();
    expect(single.error).toMatchObject({ key: 'a', message: store.unreachable.message });
    const failure = { message: store.unreachable.message, key: 'a', transient: true };
    await expect(latches.countDown('a')).rejects.toMatchObject(failure);
    await expect(latches.trySetCount('a', 1, 50)).rejects.toMatchObject(failure);
    await expect(latches.count('a')).rejects.toMatchObject(failure);
    expect(fake.ids).toEqual([]);
    latches.askNow();
    await pass(COMMAND_TIMEOUT);
    expect(asked()).toBe(1);
    expect([waiting.error, late.error]).toMatchObject([failure, failure]);
  });

  it('ends by a signal, also in a single look', async () => {
    const { wait } = setUp();
    const controller = new AbortController();
    const outcomes = [wait({ signal: controller.signal }), wait({ waitTimeout: 0, signal: controller.signal })];
    const reason = new Error('enough');
    await settled();
    controller.abort(reason);
    await settled();
    expect(outcomes.map(({ error }) => error)).toEqual([reason, reason]);
  });
});

describe('a caller that asks for a latch again and again', () => {
  const LOST = { code: 'LOCK_LATCH_LOST', key: 'a' };
  /** The client remembers for so many ms, less than the store does, which latch it has seen closed. */
  const REMEMBERED = 540_000;

  /** Waits until a reply comes. */
  async function ask({ begin, answer }: ReturnType<typeof setUp>, count: LatchCount, waitTimeout = 0) {
    const outcome = await begin({ waitTimeout });
    await answer(count);
    return outcome;
  }

  it('gets true if the store knows that the latch has opened, and asks for it no more', async () => {
    const test = setUp();
    await ask(test, closed('x'));
    expect((await ask(test, open('x'))).value).toBe(true);
    expect((await ask(test, open())).value).toBe(true);
    expect(test.fake.requests.map(({ seen }) => seen)).toEqual([[], ['x'], []]);
  });

  it('gets true if the message has come that the latch has opened', async () => {
    const test = setUp();
    await ask(test, closed('x'));
    test.latches.opened('a', 'y');
    test.latches.opened('b', 'x');
    expect((await ask(test, closed('x'))).value).toBe(false);
    test.latches.opened('a', 'x');
    expect((await ask(test, open())).value).toBe(true);
  });

  it('ignores a reply to a request from before the latch was set', async () => {
    const test = setUp();
    await test.latches.trySetCount('a', 1, 50);
    const early = await test.begin({ waitTimeout: 0 });
    test.clock.advance(10);
    await test.latches.trySetCount('a', 1, 50);
    await test.answer(closed('me:1'));
    expect(early.value).toBe(false);
    await ask(test, closed('me:2'));
    expect(test.fake.requests.map(({ seen }) => seen)).toEqual([['me:1'], ['me:2']]);
  });

  it('remembers the latch for nine minutes after it was last seen closed, even before a reply', async () => {
    const test = setUp();
    await ask(test, closed('x'));
    test.clock.advance(REMEMBERED - 1);
    await ask(test, closed('x'));
    test.clock.advance(REMEMBERED - 1);
    expect((await ask(test, open())).error).toMatchObject(LOST);
    const late = await test.begin({ waitTimeout: 0 });
    expect(test.fake.requests.at(-1)!.seen).toEqual(['x']);
    test.clock.advance(1);
    await test.answer(open());
    expect(late.value).toBe(true);
    expect((await ask(test, open())).value).toBe(true);
    expect(test.fake.requests.at(-1)!.seen).toEqual([]);
  });

  it('forgets what it has seen longest ago if there are too many latches', async () => {
    const { clock, latches, fake } = setUp();
    for (let i = 0; i <= 10_000; i++) {
      await latches.trySetCount(`${i}`, 1, 50);
      clock.advance(1);
    }
    const seenOf = async (key: string): Promise<readonly string[]> => {
      const waiting = latches.wait(key, { waitTimeout: 0, signal: undefined });
      await settled();
      fake.requests.at(-1)!.reply.resolve(closed('y'));
      await waiting.catch(() => undefined);
      return fake.requests.at(-1)!.seen;
    };
    expect(await seenOf('1')).toEqual(['me:2']);
    expect(await seenOf('0')).toEqual([]);
    expect(await seenOf('2')).toEqual([]);
  });
});

describe('a shutdown waits for both commands of', () => {
  const replicas = { min: 1, timeout: 500 };

  it.each<[what: string, call: (latches: Latches) => Promise<unknown>]>([
    ['a deletion', (latches) => latches.delete('a')],
    ['a new latch that replicas confirm', (latches) => latches.trySetCount('a', 2, 60_000, replicas)],
    ['a count-down that replicas confirm', (latches) => latches.countDown('a', replicas)],
  ])('%s', async (_what, call) => {
    const { fake, admission, latches } = setUp();
    const second = deferred<any>();
    fake.delete = fake.replicate = () => second;
    const called = call(latches);
    await Promise.resolve();
    let isOver = false;
    const shutdown = admission.settled(1_000).then(() => (isOver = true));
    fake.requests[0]?.reply.resolve(closed('x'));
    await settled();
    expect(isOver).toBe(false);
    second.resolve(1);
    await shutdown;
    expect(await called).toBeTruthy();
  });
});

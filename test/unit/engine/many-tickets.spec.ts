import { FOLLOWER_PERIOD, type AcquireReply, type HoldMode } from '../../../lib/store/lock-store.js';
import type { Hold } from '../../../lib/engine/hold.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { engineBench, FakeClock, FakeStore, held, lasting, passing, queued, RELEASED, settled } from './support.js';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Tickets, type Ticket } from '../../../lib/engine/ticket.js';

/** With these limits a waiter asks again after 3 s. */
const SOON = 3_000;
const MOST_UNANSWERED = 500;
const SLICE = 100;

/** A client with `count` waiters, each for a key of its own unless `key` names one. */
function setUp(
  count: number,
  {
    key,
    waitTimeout = Infinity,
    ...features
  }: { key?: string; waitTimeout?: number; mayKeepPlaces?: boolean; isPartitioned?: boolean } = {},
) {
  const { clock, store, engine, acquire } = engineBench({ store: Object.assign(new FakeStore(), features) });
  const ended: unknown[] = [];
  for (let i = 0; i < count; i++)
    acquire({ key: key ?? `many:${i}` }, waitTimeout).catch((error: unknown) => void ended.push(error));
  let answered = 0;
  /** Answers what has been asked so far: the store wants to be asked again as late as the request says. */
  const answer = async (): Promise<void> => {
    for (const { length } = store.acquires; answered < length; answered += 1) {
      const { request, reply: to } = store.acquires[answered]!;
      to.resolve(queued({ retryAfter: request.period }));
    }
    await settled();
  };
  const answerAll = async (): Promise<void> => {
    while (answered < store.acquires.length) await answer();
  };
  const periods = () => store.acquires.slice(-count).map(({ request }) => request.period);
  return { clock, store, engine, acquire, ended, answer, answerAll, periods };
}

/** A store that can serve several callers with one grant of permits, and what one of these callers asks for. */
const permitStore = () => Object.assign(new FakeStore(), { permits: { keepUnits: async () => 30_000 } });
const PERMIT = { mode: { kind: 'permits', units: 1, limit: 5_000 } } as const;

describe('a client that waits for very many keys', () => {
  it.each([
    [20_000, 2 * SOON],
    [100_000, 7 * SOON],
  ])('asks for each of %d keys every %d ms', async (count, period) => {
    const { clock, store, answerAll, periods } = setUp(count);
    await answerAll();
    await clock.pass(SOON);
    await answerAll();
    store.listener.restored();
    await eventually(() => store.acquires.length > count);
    await answerAll();
    await eventually(() => periods().every((each) => each === period));
    // Otherwise it would not ask when the lease ends that blocks it.
    expect(period * (4 / 3)).toBeLessThan(FOLLOWER_PERIOD * 3_000);
  });

  it.each([
    ['there are 10 000 of them', 10_000, {}, MOST_UNANSWERED],
    ['a release may miss a place', 20_000, { mayKeepPlaces: true }, MOST_UNANSWERED],
    ['some of the servers may not answer', 20_000, { isPartitioned: true }, 20_000],
  ])('asks for each key as often as for one if %s', async (_when, count, features, atOnce) => {
    const { store, answerAll, periods } = setUp(count, features);
    expect(store.acquires).toHaveLength(atOnce);
    await answerAll();
    expect(new Set(periods())).toEqual(new Set([SOON]));
  });

  it('has at most 500 unanswered requests, and asks for the others in order', async () => {
    const { store, answer, answerAll } = setUp(3_000);
    expect(store.acquires).toHaveLength(MOST_UNANSWERED);
    await answer();
    expect(store.acquires).toHaveLength(2 * MOST_UNANSWERED);
    await answerAll();
    expect(store.acquires.map(({ request }) => request.key)).toEqual(
      Array.from({ length: 3_000 }, (_, i) => `many:${i}`),
    );
  });

  it('has at most 500 unanswered requests after a reconnect', async () => {
    const { store, answerAll } = setUp(3_000);
    await answerAll();
    store.listener.restored();
    await eventually(() => store.acquires.length === 3_000 + MOST_UNANSWERED);
    for (let turn = 0; turn < 50; turn++) await settled();
    expect(store.acquires).toHaveLength(3_000 + MOST_UNANSWERED);
    await answerAll();
    expect(store.acquires).toHaveLength(6_000);
  });

  it('asks for a new key before the keys that it has asked for, and for each of them once', async () => {
    const { clock, store, acquire, answer, answerAll } = setUp(3_000);
    await answerAll();
    const before = store.acquires.length;
    store.listener.restored();
    await eventually(() => store.acquires.length === before + MOST_UNANSWERED);
    for (let turn = 0; turn < 50; turn++) await settled();
    // The times at which they would have asked come while they stand in the backlog.
    clock.advance(2 * SOON);
    for (let turn = 0; turn < 50; turn++) await settled();
    void acquire({ key: 'new' });
    const asked = store.acquires.length;
    expect(asked).toBe(before + MOST_UNANSWERED);
    await answer();
    expect(store.acquires[asked]!.request.key).toBe('new');
    await answerAll();
    expect(store.acquires.length - before).toBeLessThanOrEqual(3_000 + MOST_UNANSWERED + 1);
  });

  it('learns of a failure within a period of a single key', async () => {
    const { clock, store, ended, answerAll } = setUp(20_000);
    await answerAll();
    store.epoch += 1;
    store.listener.restored();
    await eventually(() => store.acquires.length === 20_000 + MOST_UNANSWERED);
    store.unreachable = passing();
    clock.advance(1);
    for (const { reply } of store.acquires.slice(-MOST_UNANSWERED)) reply.reject(passing());
    // One period, and the time for which failures are retried.
    await clock.pass(SOON + 5_000 + 100);
    await eventually(() => ended.length === 20_000);
  });

  it('does not ask more often because some requests fail while others are answered', async () => {
    const { clock, store, answerAll } = setUp(20_000);
    await answerAll();
    store.listener.restored();
    await eventually(() => store.acquires.length === 20_000 + MOST_UNANSWERED);
    clock.advance(1);
    const [first, ...others] = store.acquires.slice(-MOST_UNANSWERED);
    for (const { request, reply } of others) reply.resolve(queued({ retryAfter: request.period }));
    first!.reply.reject(passing());
    await answerAll();
    const before = store.acquires.length;
    await clock.pass(SOON);
    // The request that has failed.
    expect(store.acquires.length - before).toBe(1);
  });

  it('releases only the keys that it has asked for', async () => {
    const { clock, store, engine, ended } = setUp(3_000);
    clock.advance(1);
    // The other 499 stay unanswered, so that further requests are of no use.
    store.acquires[0]!.reply.reject(passing());
    for (let turn = 0; turn < 100; turn++) await settled();
    engine.stopWaiting();
    await eventually(() => ended.length === 3_000);
    const asked = new Set(store.acquires.map(({ request }) => request.id));
    expect(asked.size).toBeLessThan(1_000);
    expect(store.releases.filter(({ request }) => !asked.has(request.id))).toEqual([]);
  });
});

describe('very many callers of one key', () => {
  const setUpCallers = async () => {
    const parts = setUp(10_000, { key: 'a' });
    await settled();
    expect(parts.store.acquires).toHaveLength(1);
    return parts;
  };

  const areRejectedInSlices = async (ended: readonly unknown[]): Promise<void> => {
    let before = 0;
    while (ended.length < 10_000) {
      await settled();
      expect(ended.length - before).toBeGreaterThan(0);
      expect(ended.length - before).toBeLessThanOrEqual(2 * SLICE);
      before = ended.length;
    }
  };

  it('are rejected in slices when the client stops', async () => {
    const { store, engine, ended, answerAll } = await setUpCallers();
    await answerAll();
    engine.stopWaiting();
    await areRejectedInSlices(ended);
    expect(store.releases).toHaveLength(1);
  });

  it('are rejected in slices when the store fails', async () => {
    const { store, ended } = await setUpCallers();
    store.acquires[0]!.reply.reject(lasting());
    await areRejectedInSlices(ended);
    expect(new Set(ended)).toEqual(new Set([lasting()]));
  });

  it('learn that the store has failed, although their time is over before their slice', async () => {
    const { clock, store, ended } = setUp(10_000, { key: 'a', waitTimeout: SOON });
    await settled();
    clock.advance(SOON - 1);
    store.acquires[0]!.reply.reject(lasting());
    while (ended.length === 0) await settled();
    expect(ended.length).toBeLessThan(10_000);
    clock.advance(5);
    await eventually(() => ended.length === 10_000);
    expect(new Set(ended.map((error) => (error as Error).name))).toEqual(new Set(['LockStoreError']));
  });
});

it('one request for permits is for 1 000 callers at most', async () => {
  const { store, acquire, answer } = engineBench({ store: permitStore() });
  const holds: Hold[] = [];
  for (let i = 0; i < 5_000; i++) void acquire(PERMIT).then((hold) => holds.push(hold));
  await settled();
  await answer(held(1, 30_000, 50_000, 200), 0);
  for (let i = 1; holds.length < 5_000; i++) {
    const { slots } = store.acquires[i]!.request;
    expect(slots).toBeLessThanOrEqual(1_000);
    await answer({ ...held(1_000 * i, 30_000, 50_000, 1_000), units: slots } as AcquireReply, i);
  }
  expect(store.acquires.length).toBeLessThanOrEqual(10);
});

it('20 000 readers that ask in one turn take about as long as other callers', () => {
  const timeOf = (mode: HoldMode): number => {
    const { acquire } = engineBench();
    const since = performance.now();
    for (let i = 0; i < 20_000; i++) void acquire({ mode });
    return performance.now() - since;
  };
  expect(timeOf({ kind: 'read' })).toBeLessThan(10 * timeOf({ kind: 'exclusive' }));
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('keeps no caller that has had permits, although others always wait for a reply', async () => {
  const { store, engine, acquire } = engineBench({ store: permitStore() });
  const waiting: Array<Promise<Hold>> = [];
  const call = () => waiting.push(acquire(PERMIT));
  const early: Array<WeakRef<Hold>> = [];
  call();
  for (let i = 0; i < 100; i++) {
    call();
    store.acquires[i]!.reply.resolve({ ...held(1_000 * (i + 1), 30_000), units: 1 } as AcquireReply);
    const hold = (await waiting.shift())!;
    void engine.releases.release(hold);
    store.releases.at(-1)!.reply.resolve(RELEASED);
    early.push(new WeakRef(hold));
  }
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(early.filter((each) => each.deref() !== undefined).length).toBeLessThan(10);
});

it('keeps no ticket that has asked, although there are always others that have to', async () => {
  const tickets = new Tickets(new FakeClock(), { mayKeepPlaces: false, isPartitioned: false });
  const asked: string[] = [];
  const early: Array<WeakRef<Ticket>> = [];
  let count = 0;
  const begin = (): void => {
    const id = `${count++}`;
    const ticket = {
      ...{ id, isNew: true, key: id, follows: false },
      ...{ line: undefined, list: undefined, before: undefined, behind: undefined },
      ...{ askSoon() {}, pushed() {}, retryAfter() {}, revoked() {}, yield() {} },
      ask() {
        asked.push(id);
        tickets.sent();
      },
    } as unknown as Ticket;
    tickets.add(ticket, false);
    if (early.length < 1_000) early.push(new WeakRef(ticket));
    tickets.askInTurn(ticket);
  };
  for (let i = 0; i < 1_000; i++) begin();
  expect(asked).toHaveLength(500);
  for (let i = 0; i < 10_000; i++) {
    tickets.remove(tickets.get(asked[i]!)!);
    tickets.settled(i);
    begin();
  }
  expect(asked.slice(0, 10_000)).toEqual(Array.from({ length: 10_000 }, (_, i) => `${i}`));
  // A weak reference keeps its target until the end of the turn in which it was made.
  await new Promise(setImmediate);
  collectGarbage();
  expect(early.filter((ticket) => ticket.deref() !== undefined)).toHaveLength(0);
});

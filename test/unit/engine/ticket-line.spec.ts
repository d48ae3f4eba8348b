import type { Hold } from '../../../lib/engine/hold.js';
import type { AcquireReply } from '../../../lib/store/lock-store.js';
import { engineBench, FakeStore, passing, queued, settled } from './support.js';

const FRONT = 2;
/** With these limits a waiter asks again after 3 s, or after 30 s if it follows others. */
const SOON = 3_000;
const LATE = 30_000;

/** A client with `count` fair waiters for a key, of which the first two stand at the front. */
async function setUp(
  count: number,
  { owner, lease = 30_000, mayKeepPlaces = false }: { owner?: string; lease?: number; mayKeepPlaces?: boolean } = {},
) {
  const { clock, store, acquire, push } = engineBench({
    store: Object.assign(new FakeStore(), { mayKeepPlaces }),
    limits: { front: FRONT },
  });
  const stop = Array.from({ length: count }, () => new AbortController());
  const served: number[] = [];
  const holds: Hold[] = [];
  const ends = stop.map(({ signal }, i) =>
    acquire({ fair: true, owner, lease }, Infinity, signal).then(
      (hold) => {
        served.push(i);
        holds.push(hold);
      },
      (error: Error) => error,
    ),
  );
  let answered = 0;
  const ids = store.acquires.map(({ request }) => request.id);
  /** Answers all requests: the store wants to be asked again as late as the request says. */
  const answer = async (reply?: AcquireReply): Promise<void> => {
    for (; answered < store.acquires.length; answered += 1) {
      const { request, reply: to } = store.acquires[answered]!;
      to.resolve(reply ?? queued({ retryAfter: request.period }));
    }
    await settled();
  };
  const fail = async (): Promise<void> => {
    for (; answered < store.acquires.length; answered += 1) store.acquires[answered]!.reply.reject(passing());
    await settled();
  };
  /** Passes time, and returns which waiters ask meanwhile, by number. */
  const askIn = async (ms: number): Promise<number[]> => {
    const before = store.acquires.length;
    clock.advance(ms);
    await settled();
    return store.acquires
      .slice(before)
      .map(({ request }) => ids.indexOf(request.id))
      .sort();
  };
  const grant = async (i: number): Promise<void> => {
    push({ id: ids[i]!, token: 11 + i, time: 50_000 });
    await settled();
  };
  return { store, acquire, stop, ends, served, answer, fail, askIn, grant };
}

describe('the tickets of a client for one key', () => {
  it('ask often at the front, and seldom behind it', async () => {
    const { store, answer, askIn } = await setUp(4);
    expect(store.acquires.map(({ request }) => request.period)).toEqual([SOON, SOON, LATE, LATE]);
    await answer();
    expect(await askIn(SOON - 1)).toEqual([]);
    expect(await askIn(1)).toEqual([0, 1]);
    await answer();
    expect(await askIn(LATE - 2 * SOON)).toEqual([0, 1]);
  });

  it('are kept by the store for longer than until the next request, one failure and another request', async () => {
    const { store } = await setUp(3);
    const [first, , last] = store.acquires.map(({ request }) => request);
    expect(first!.patience).toBe(2 * SOON + 5_000);
    expect(last!.patience).toBe(LATE + SOON + 5_000);
  });

  it('ask soon when they come to the front: their grants may have been lost', async () => {
    const { answer, askIn, grant, served } = await setUp(5);
    await answer();
    expect(await askIn(1_000)).toEqual([]);
    await grant(0);
    expect(served).toEqual([0]);
    // The second one is due now, the third one after the time of one at the front.
    expect(await askIn(2_000)).toEqual([1]);
    await answer();
    expect(await askIn(1_000)).toEqual([2]);
    await answer();
    expect(await askIn(2_000)).toEqual([1]);
  });

  it.each(['is answered before', 'is answered after'])(
    'ask soon at the front if the first request %s',
    async (when) => {
      const { answer, askIn, stop } = await setUp(3);
      if (when === 'is answered before') await answer();
      stop[0]!.abort();
      await settled();
      if (when === 'is answered after') await answer();
      expect(await askIn(SOON)).toEqual([1, 2]);
    },
  );

  it('move up when one from the middle of the front gives up, not when one behind it does', async () => {
    const { answer, askIn, stop } = await setUp(5);
    await answer();
    stop[4]!.abort();
    stop[3]!.abort();
    await settled();
    expect(await askIn(SOON)).toEqual([0, 1]);
    await answer();
    stop[1]!.abort();
    await settled();
    expect(await askIn(SOON)).toEqual([0, 2]);
  });

  it('begin a new front when all have left', async () => {
    const { store, acquire, answer, stop } = await setUp(3);
    await answer();
    for (const each of stop) each.abort();
    await settled();
    void acquire({ fair: true });
    expect(store.acquires.at(-1)!.request.period).toBe(SOON);
  });

  it('all ask within the time of one at the front after a failure, and fail as the front does', async () => {
    const { answer, askIn, fail, ends } = await setUp(4);
    await answer();
    expect(await askIn(SOON)).toEqual([0, 1]);
    await fail();
    const asked = new Set<number>();
    for (let ms = 0; ms < SOON + 6_000; ms += 50) {
      for (const i of await askIn(50)) asked.add(i);
      await fail();
    }
    expect([...asked].sort()).toEqual([0, 1, 2, 3]);
    for (const end of ends) expect(await end).toMatchObject({ code: 'LOCK_STORE' });
  });

  it('ask seldom again when the store answers after a failure', async () => {
    const { answer, askIn, fail } = await setUp(3);
    await answer();
    await askIn(SOON);
    await fail();
    const asked: number[] = [];
    for (let ms = 0; ms < SOON; ms += 50) {
      asked.push(...(await askIn(50)));
      await answer();
    }
    expect(asked).toContain(2);
    for (let ms = 0; ms < LATE - SOON; ms += 500) {
      expect(await askIn(500)).not.toContain(2);
      await answer();
    }
  });

  it('all ask when the client receives messages again', async () => {
    const { store, answer } = await setUp(4);
    await answer();
    store.listener.restored();
    await settled();
    expect(store.acquires.slice(4).map(({ request }) => request.period)).toEqual([SOON, SOON, LATE, LATE]);
  });

  it.each([
    ['the store may keep a place after its release', { mayKeepPlaces: true }],
    ['their owner is named: a grant to that owner passes the queue', { owner: 'me' }],
  ])('do not follow others if %s', async (_when, options) => {
    const { store } = await setUp(4, options);
    expect(store.acquires.map(({ request }) => request.period)).toEqual([SOON, SOON, SOON, SOON]);
  });

  it('have a period of their own, however short the lease is', async () => {
    const { store } = await setUp(3, { lease: 300 });
    expect(store.acquires.map(({ request }) => request.period)).toEqual([100, 100, LATE]);
  });
});

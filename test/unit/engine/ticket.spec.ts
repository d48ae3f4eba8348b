import type { Places } from '../../../lib/engine/hold-terms.js';
import type { Grant } from '../../../lib/engine/hold.js';
import { Ticket, Tickets, type TicketListener, type TicketParts } from '../../../lib/engine/ticket.js';
import type { AcquireReply, PushedGrant } from '../../../lib/store/lock-store.js';
import { contextOf, FakeStore, held, lasting, passing, queued, TERMS, FakeClock, settled } from './support.js';

const ID = 'me:1';
const PLACES: Places = { waits: true, batchSize: 1, uncontendedBatchSize: 1 };
/** The store's report of a grant at its own time of 51 s. */
const push = (details: Partial<PushedGrant> = {}): PushedGrant => ({
  ...{ key: 'a', id: ID, token: 11, lease: 3_000, time: 51_000, batchSize: 1 },
  ...details,
});

function setUp({ waits = true } = {}) {
  const clock = new FakeClock();
  const store = new FakeStore();
  const told: string[] = [];
  const grants: Grant[] = [];
  const release = (_key: string, ids: readonly string[]): undefined => {
    if (ids.length > 0) told.push(`orphans ${ids.join()}`);
  };
  const parts: TicketParts = {
    tickets: new Tickets(clock, {}),
    context: contextOf(store, clock),
    releases: {
      leave: (key, id, tombstone, until) => {
        told.push(`left ${key} ${id} ${tombstone}, retried for ${until! - clock.now()}`);
      },
    },
    orphans: { release, releaseHolders: release },
  };
  const listener: TicketListener = {
    granted: (grant) => {
      told.push('granted');
      grants.push(grant);
    },
    contended: () => void told.push('contended'),
    outdated: () => void told.push('outdated'),
    failed: (error) => void told.push(`failed: ${error.message}`),
  };
  const ticket = new Ticket(parts, 'a', TERMS, { ...PLACES, waits }, listener);
  const answer = async (reply: AcquireReply, i = store.acquires.length - 1) => {
    store.acquires[i]!.reply.resolve(reply);
    await settled();
  };
  const fail = async (error: Error) => {
    store.acquires.at(-1)!.reply.reject(error);
    await settled();
  };
  return { clock, store, ticket, told, grants, answer, fail };
}

/** A ticket that has sent its first request. */
function asking(options?: Parameters<typeof setUp>[0]) {
  const all = setUp(options);
  all.ticket.ask();
  return all;
}

/** A ticket with a place in the queue: asked at 1000 by our clock, answered at 50 000 by the server's. */
async function waiting() {
  const all = asking();
  all.clock.advance(10);
  await all.answer(queued({ retryAfter: 20_000 }));
  return all;
}

describe('a requesting ticket', () => {
  it('counts the validity of a grant from its request', async () => {
    const { clock, answer, grants, told } = asking();
    clock.advance(400);
    await answer(held(11, 30_000));
    expect(grants).toMatchObject([{ id: ID, token: 11, lease: 30_000, from: 1_000 }]);
    expect(told).toEqual(['granted']);
  });

  it('retries when the reply says', async () => {
    const { clock, store, answer } = asking();
    await answer(queued({ retryAfter: 700 }));
    await clock.pass(699);
    expect(store.acquires).toHaveLength(1);
    await clock.pass(1);
    expect(store.acquires).toHaveLength(2);
    expect(store.acquires[1]!.request).toEqual(store.acquires[0]!.request);
  });

  it('retries earlier if a message says so, and never later', async () => {
    const { clock, ticket, store } = await waiting();
    ticket.retryAfter(500);
    ticket.retryAfter(5_000);
    await clock.pass(500);
    expect(store.acquires).toHaveLength(2);
  });
});

describe('a pushed grant', () => {
  it("is valid by the server's clock, from the previous request", async () => {
    const { clock, ticket, grants, store } = await waiting();
    clock.advance(1_500);
    // Granted a second after the reply, which was asked for at 1000; but that second is the server's.
    ticket.pushed(push());
    expect(grants).toMatchObject([{ id: ID, token: 11, lease: 3_000, from: 1_990 }]);
    expect(store.acquires).toHaveLength(1);
  });

  it("is valid from its arrival at the latest, whatever the server's clock shows", async () => {
    const { clock, ticket, grants } = await waiting();
    clock.advance(90);
    ticket.pushed(push({ time: 60_000 }));
    expect(grants).toMatchObject([{ id: ID, token: 11, lease: 3_000, from: 1_100 }]);
  });

  it('remembers the epoch of the first request, unless one is unanswered: its release knows which may be executed again', async () => {
    for (const isUnanswered of [false, true]) {
      const { clock, ticket, grants, store } = await waiting();
      clock.advance(1_500);
      if (isUnanswered) ticket.ask();
      ticket.pushed(push());
      expect(grants).toMatchObject([{ epoch: isUnanswered ? undefined : store.epoch }]);
    }
  });

  it.each([
    ['its token is no larger than the last one told', push({ token: 10 })],
    ['less than half of its lease is ahead', push({ time: 50_000, lease: 3_000 })],
    ['it was granted before the reply', push({ time: 40_000 })],
  ])('makes the waiter retry at once if %s', async (_, grant) => {
    const { clock, ticket, grants, store } = await waiting();
    clock.advance(1_500);
    ticket.pushed(grant);
    expect(grants).toEqual([]);
    expect(store.acquires).toHaveLength(2);
  });

  it('makes the waiter retry if a connection was lost since the reply', async () => {
    const { clock, ticket, grants, store, answer } = await waiting();
    store.epoch += 1;
    clock.advance(1_000);
    ticket.pushed(push());
    expect(grants).toEqual([]);
    expect(store.acquires).toHaveLength(2);
    clock.advance(5);
    await answer(held(11, 29_000));
    expect(grants).toMatchObject([{ id: ID, token: 11, lease: 29_000, from: 2_010 }]);
  });

  it('is not measured by a reply to a request from before a reconnect', async () => {
    const { clock, ticket, grants, store, answer } = asking();
    store.epoch += 1;
    clock.advance(10);
    await answer(queued());
    clock.advance(10);
    ticket.pushed(push({ time: 50_015 }));
    expect(grants).toEqual([]);
    expect(store.acquires).toHaveLength(2);
  });

  it('that comes before the reply waits for it, and is measured by it', async () => {
    const { clock, ticket, grants, store, answer } = asking();
    clock.advance(40);
    ticket.pushed(push({ time: 50_020 }));
    expect([grants.length, store.acquires.length]).toEqual([0, 1]);
    clock.advance(10);
    await answer(queued({ time: 50_000, lastToken: 10 }));
    expect(grants).toMatchObject([{ id: ID, token: 11, lease: 3_000, from: 1_019.8 }]);
    expect(store.acquires).toHaveLength(1);
  });

  it('that comes before the reply does not count if the reply has a larger token', async () => {
    const { ticket, grants, store, answer } = asking();
    ticket.pushed(push());
    await answer(queued({ lastToken: 12 }));
    expect([grants, store.acquires.length]).toEqual([[], 2]);
  });

  it('that comes before the reply is ignored if the reply is the grant itself', async () => {
    const { ticket, grants, answer } = asking();
    ticket.pushed(push());
    await answer(held(11, 30_000));
    expect(grants).toMatchObject([{ id: ID, token: 11, lease: 30_000, from: 1_000 }]);
  });

  it('that was ended by force before it arrived does not count, nor does a pending reply', async () => {
    const { clock, ticket, grants, store, answer } = await waiting();
    ticket.ask();
    clock.advance(5);
    ticket.revoked();
    expect(store.acquires).toHaveLength(3);
    await answer(held(11, 30_000), 1); // sent before
    ticket.pushed(push());
    expect(grants).toEqual([]);
    await answer(held(12, 30_000), 2);
    expect(grants).toMatchObject([{ token: 12 }]);
  });
});

describe('an abandoned ticket', () => {
  it('leaves its place, and retries no more', async () => {
    const { clock, ticket, store, told } = await waiting();
    ticket.leave();
    ticket.leave();
    await clock.pass(25_000);
    expect(store.acquires).toHaveLength(1);
    expect(told).toEqual(['contended', `left a ${ID} 0, retried for 30000`]);
  });

  type Parts = ReturnType<typeof setUp>;
  it.each<[string, (parts: Parts) => unknown]>([
    ['is pending', ({ ticket }) => ticket.ask()],
    [
      'may have got lost',
      ({ ticket, fail }) => {
        ticket.ask();
        return fail(passing());
      },
    ],
    ['may be executed again after a reconnect', ({ store }) => (store.epoch += 1)],
  ])('leaves a tombstone if a request %s', async (_what, change) => {
    const parts = await waiting();
    await change(parts);
    parts.ticket.leave();
    expect(parts.told).toContain(`left a ${ID} 10000, retried for 30000`);
  });

  it('sends no leave before its first request', () => {
    const { ticket, told } = setUp();
    ticket.leave();
    expect(told).toEqual([]);
  });

  it('releases a grant that comes nevertheless', async () => {
    const { ticket, told, grants, answer } = asking();
    ticket.leave();
    await answer(held(11, 30_000));
    expect(grants).toEqual([]);
    expect(told).toContain(`orphans ${ID}`);
  });
});

describe('a ticket with a failing store', () => {
  it('retries soon after a transient failure', async () => {
    const { clock, store, fail, answer, grants } = asking();
    await fail(passing());
    await clock.pass(100);
    expect(store.acquires).toHaveLength(2);
    await answer(held(11, 30_000));
    expect(grants[0]!.from).toBeGreaterThan(1_000);
  });

  it('gives up after commandTimeout', async () => {
    const { clock, store, told, fail } = asking();
    while (!told.some((word) => word.startsWith('failed'))) {
      await fail(passing());
      await clock.pass(100);
      expect(clock.now()).toBeLessThan(8_000);
    }
    expect(clock.now() - 1_000).toBeGreaterThanOrEqual(4_950);
    expect(clock.now() - 1_000).toBeLessThanOrEqual(5_100);
    expect(store.acquires.length).toBeLessThan(150);
    expect(told.slice(-2)).toEqual([`left a ${ID} 10000, retried for 30000`, 'failed: the connection is lost']);
  });

  it('does not retry if the first request took nearly all of commandTimeout', async () => {
    const { clock, store, told, fail } = asking();
    await clock.pass(4_960); // timers come a little early sometimes
    await fail(passing());
    expect(told.at(-1)).toBe('failed: the connection is lost');
    await clock.pass(1_000);
    expect(store.acquires).toHaveLength(1);
  });

  it.each([
    ['after a permanent failure, without a tombstone', true, lasting(), 0],
    ['if it does not wait', false, passing(), 10_000],
  ])('gives up at once %s', async (_when, waits, error, tombstone) => {
    const { told, fail } = asking({ waits });
    await fail(error);
    expect(told.slice(-2)).toEqual([`left a ${ID} ${tombstone}, retried for 30000`, `failed: ${error.message}`]);
  });

  it('restarts the time of failures after a reply', async () => {
    const { clock, ticket, told, fail, answer } = asking();
    for (let i = 0; i < 4; i++) {
      await clock.pass(3_000);
      await fail(passing());
      ticket.ask();
      await answer(queued({ retryAfter: 60_000 }));
      ticket.ask();
    }
    expect(told.filter((word) => word.startsWith('failed'))).toEqual([]);
  });
});

it('an inherited ticket requests another lease at once, in its old place', async () => {
  const { ticket, store, told } = await waiting();
  ticket.inherit(TERMS, PLACES);
  expect(store.acquires).toHaveLength(1);
  ticket.inherit({ ...TERMS, lease: 2_000 }, PLACES);
  expect(store.acquires[1]!.request).toMatchObject({ id: ID, lease: 2_000 });
  expect(told).toEqual(['contended']);
});

import type { LockStoreHarness } from 'nestjs-redis-locks/testing';
import type { AcquireReply, AcquireRequest, LockStore } from '../../lib/store/lock-store.js';
import type { QuorumMember } from '../../lib/store/quorum-member.js';
import { StagedStore } from '../../lib/testing/contract/stage.js';
import { redisHarness } from './harnesses.js';

/* What Redis does with its queue beyond the contract: other stores may serve waiters in another way. */

let harness!: LockStoreHarness;
let key!: string;
let keys = 0;
const opened = new Set<StagedStore>();
beforeAll(async () => {
  harness = await redisHarness();
});
afterEach(async () => {
  await Promise.all([...opened].map(({ port }) => port.close()));
  opened.clear();
});
afterAll(() => harness.stop());

/** Stores of as many clients, for a key that no other test uses. */
async function stores(count: number): Promise<StagedStore[]> {
  key = `k${(keys += 1)}`;
  for (let i = 0; i < count; i++) opened.add(new StagedStore(await harness.store()));
  return [...opened];
}

async function send({ port }: StagedStore, request: AcquireRequest): Promise<AcquireReply> {
  const reply = port.acquire(request);
  await harness.sleep(1);
  return reply;
}

/** Requests of one client that all get places. */
async function queue(store: StagedStore, count: number, details: Partial<AcquireRequest> = {}) {
  const tickets = Array.from({ length: count }, () => store.request(key, details));
  const replies = await Promise.all(tickets.map((ticket) => store.port.acquire(ticket)));
  expect(new Set(replies.map(({ outcome }) => outcome))).toEqual(new Set(['queued']));
  return tickets;
}

async function hold(store: StagedStore, details?: Partial<AcquireRequest>): Promise<AcquireRequest> {
  const request = store.request(key, details);
  expect((await send(store, request)).outcome).toBe('held');
  return request;
}

const waiting = async (): Promise<readonly string[]> => (await harness.truth(key)).waiting;

async function until(look: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = harness.now() + 10_000;
  while (!(await look())) {
    expect(harness.now()).toBeLessThan(deadline);
    await harness.sleep(5);
  }
}

/** Waits for the end of the only hold, with requests that take no place. Resolves to the request that got the lock. */
async function take(store: StagedStore): Promise<AcquireRequest> {
  let request!: AcquireRequest;
  await until(async () => {
    request = store.request(key, { waits: false });
    return (await send(store, request)).outcome === 'held';
  });
  return request;
}

describe('a request that follows others of its client', () => {
  const GRANT_TIMEOUT = 3_000;
  /** The shortest period with which a request follows others. */
  const FOLLOWS = { period: 10 * GRANT_TIMEOUT, patience: 60_000, grantTimeout: GRANT_TIMEOUT };
  const LEASE = 2_000;

  it('retries after its period, whatever lease blocks it, and one with a shorter period when the lease ends', async () => {
    const [store] = (await stores(1)) as [StagedStore];
    await hold(store, { lease: LEASE });
    for (const terms of [{}, { ...FOLLOWS, period: FOLLOWS.period - 1 }]) {
      const early = await send(store, store.request(key, terms));
      expect(early).toMatchObject({ outcome: 'queued' });
      expect((early as { retryAfter: number }).retryAfter).toBeLessThan(FOLLOWS.period / 2);
    }
    const last = await send(store, store.request(key, FOLLOWS));
    expect(last).toMatchObject({ outcome: 'queued', retryAfter: FOLLOWS.period });
  });

  it('is notified to retry when it becomes the head and the lease before it ends earlier', async () => {
    const [store] = (await stores(1)) as [StagedStore];
    const holder = await hold(store);
    const [first, second, third] = [store.request(key), store.request(key, FOLLOWS), store.request(key, FOLLOWS)];
    for (const each of [first, second, third]) expect(await send(store, each)).toMatchObject({ outcome: 'queued' });
    await store.release(key, holder.id);
    await until(() => store.isToAsk(second));
    expect(await store.isGranted(first)).toBe(true);
    expect(store.isToAsk(third)).toBe(false);
  });
});

describe('inspecting more waiters and holders than one command reads', () => {
  const MANY = 300;
  const READ = { mode: { kind: 'read' } } as const;

  it('returns all waiters in order, once each, or as many as were asked for', async () => {
    const [store] = (await stores(1)) as [StagedStore];
    const holder = await hold(store);
    const ids = (await queue(store, MANY, { fair: true })).map(({ id }) => id);
    for (const count of [undefined, MANY, 257, 255, 129, 128, 127, 1]) {
      const { waiters, holds } = await store.port.inspect(key, count);
      expect(waiters.slice(0, count).map(({ id }) => id)).toEqual(ids.slice(0, count));
      expect(holds.map(({ id }) => id)).toEqual([holder.id]);
    }
  });

  it('returns all holds beside all waiters', async () => {
    const [store] = (await stores(1)) as [StagedStore];
    const readers = Array.from({ length: MANY }, () => store.request(key, READ));
    for (const reader of readers) expect(await store.port.acquire(reader)).toMatchObject({ outcome: 'held' });
    const writers = await queue(store, MANY);
    const { holds, waiters } = await store.port.inspect(key);
    expect(holds.map(({ id }) => id).sort()).toEqual(readers.map(({ id }) => id).sort());
    expect(waiters.map(({ id }) => id)).toEqual(writers.map(({ id }) => id));
  });
});

/** How the masters of a Redlock treat a request that says how long ago it was made. */
it('a retry with an age falls behind only if it has backed off', async () => {
  const [store] = (await stores(1)) as [StagedStore];
  const ask = async (name: string, details: { age?: number; backedOff?: boolean }) => {
    const reply = store.port.acquire({ ...store.request(key, details), id: `${store.port.clientId}:${name}` });
    await harness.sleep(5);
    return (await reply).outcome;
  };
  const order = async () => (await waiting()).map((id) => id.slice(33));
  expect(await ask('holder', {})).toBe('held');
  await ask('first', { age: 100 });
  await ask('second', { age: 95 });
  expect(await order()).toEqual(['first', 'second']);
  // The way took long.
  await ask('first', { age: 0 });
  expect(await order()).toEqual(['first', 'second']);
  await ask('first', { age: 50, backedOff: true });
  expect(await order()).toEqual(['second', 'first']);
  // It was older than had been thought.
  await ask('first', { age: 10_000, backedOff: true });
  expect(await order()).toEqual(['first', 'second']);
});

describe('tickets of clients that are absent, or that have let a grant expire', () => {
  const READ = { mode: { kind: 'read' } } as const;
  /** More than the parked tickets among which a client finds its other ones. */
  const MANY = 1_100;
  /** More than the tickets that make a waiter retry later. */
  const CROWD = 120;

  it(`do not keep the lock from a waiter behind ${CROWD} of a client that lets its first grant expire`, async () => {
    const [holder, frozen, live] = (await stores(3)) as [StagedStore, StagedStore, StagedStore];
    const held = await hold(holder);
    await queue(frozen, CROWD, { fair: true });
    const [last] = (await queue(live, 1, { fair: true })) as [AcquireRequest];
    await holder.release(key, held.id);
    const reply = await send(live, last);
    if (reply.outcome !== 'queued') throw new Error(`the waiter behind all others is ${reply.outcome}`);
    await harness.sleep(reply.retryAfter);
    expect((await send(live, last)).outcome).toBe('held');
    // One grant was not taken. The other tickets keep their places.
    expect(await waiting()).toHaveLength(CROWD - 1);
  });

  it(`leave a waiter its place back behind ${MANY} tickets of absent clients`, async () => {
    const [holder, dead, live, other] = (await stores(4)) as [StagedStore, StagedStore, StagedStore, StagedStore];
    const held = await hold(holder);
    await queue(live, 1, { grantTimeout: 2_000 });
    await queue(dead, MANY);
    const [last] = (await queue(live, 1, { grantTimeout: 2_000 })) as [AcquireRequest];
    opened.delete(dead);
    await dead.port.close();
    await harness.sleep(200); // there is no event for the moment at which the server has noticed
    await holder.release(key, held.id);
    const taken = await take(other);
    expect(await waiting()).toHaveLength(MANY + 1);
    await other.release(key, taken.id);
    expect((await send(live, last)).outcome).toBe('held');
  });

  it('are parked if their client let a grant expire, also where the holds do not admit them', async () => {
    const [holder, reader, absent, writer] = (await stores(4)) as [StagedStore, StagedStore, StagedStore, StagedStore];
    const held = await hold(holder);
    const [lost] = (await queue(absent, 1, { ...READ, grantTimeout: 2_000 })) as [AcquireRequest];
    const [read] = (await queue(reader, 1, READ)) as [AcquireRequest];
    const [before] = (await queue(absent, 1)) as [AcquireRequest];
    const [after] = (await queue(writer, 1)) as [AcquireRequest];
    await holder.release(key, held.id);
    expect((await send(reader, read)).outcome).toBe('held');
    expect(await waiting()).toEqual([before.id, after.id]);
    await until(async () => !(await harness.truth(key)).holds.some(({ id }) => id === lost.id));
    // The present writer stops readers that come after it.
    expect((await send(holder, holder.request(key, { ...READ, waits: false }))).outcome).toBe('busy');
    expect(await waiting()).toEqual([after.id, before.id]);
    // A client that retries gets its place back.
    expect((await send(absent, before)).outcome).toBe('queued');
    expect(await waiting()).toEqual([before.id, after.id]);
    await reader.release(key, read.id);
    await until(() => absent.isGranted(before));
    expect(await waiting()).toEqual([after.id]);
  });
});

describe('a vote of a Redlock that is taken again late', () => {
  /** Reinstates a hold whose lease ends `from` ms from now at the latest. `tombstoneFor`: of a release before that, in ms. */
  async function reinstate(from: number, tombstoneFor = 0) {
    const [{ port }] = (await stores(1)) as [StagedStore];
    await port.release({ key, id: `${port.clientId}:1`, tombstoneFor, keep: 0, next: undefined });
    const hold = { mode: { kind: 'exclusive' }, owner: undefined, token: 1, batchSize: 1, lease: 60_000 } as const;
    const outcome = await (port as LockStore & QuorumMember).reinstate({
      ...hold,
      ...{ key, id: `${port.clientId}:1`, latest: Date.now() + from },
    });
    return { outcome, holds: (await port.inspect(key)).holds };
  }

  it('lasts no longer than the lease', async () => {
    const { outcome, holds } = await reinstate(30_000);
    expect([outcome, holds.length]).toEqual(['held', 1]);
    expect(holds[0]!.ttl).toBeGreaterThan(0);
    expect(holds[0]!.ttl).toBeLessThanOrEqual(30_000);
  });

  it('is refused after the lease', async () => {
    expect(await reinstate(-1)).toEqual({ outcome: 'missing', holds: [] });
  });

  it('is refused after a release with a tombstone, which does not count as a release by force', async () => {
    expect(await reinstate(30_000, 60_000)).toEqual({ outcome: 'missing', holds: [] });
  });
});

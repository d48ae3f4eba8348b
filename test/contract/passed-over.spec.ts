import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockStoreHarness } from 'nestjs-redis-locks/testing';
import type { AcquireReply, AcquireRequest } from '../../lib/store/lock-store.js';
import { StagedStore } from '../../lib/testing/contract/stage.js';
import { redisHarness } from './harnesses.js';

const READ = { mode: { kind: 'read' } } as const;
/** More than the parked tickets among which a client finds its other ones. */
const MANY = 1_100;
/** More than the tickets that make a waiter retry later. */
const CROWD = 120;

/** What Redis does with the tickets of clients that are absent, or that have let a grant expire. */
describe('one Redis', () => {
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
  const stores = async (count: number): Promise<StagedStore[]> => {
    key = `k${(keys += 1)}`;
    const made: StagedStore[] = [];
    for (let i = 0; i < count; i++) made.push(new StagedStore(await harness.store()));
    for (const store of made) opened.add(store);
    return made;
  };
  const requests = (store: StagedStore, count: number, details: Partial<AcquireRequest> = {}) =>
    Array.from({ length: count }, () => store.request(key, details));
  const send = async ({ port }: StagedStore, request: AcquireRequest): Promise<AcquireReply> => {
    const reply = port.acquire(request);
    await harness.sleep(1);
    return reply;
  };
  const queue = async ({ port }: StagedStore, tickets: readonly AcquireRequest[]): Promise<void> => {
    const replies = await Promise.all(tickets.map((ticket) => port.acquire(ticket)));
    expect(new Set(replies.map(({ outcome }) => outcome))).toEqual(new Set(['queued']));
  };
  const hold = async (store: StagedStore): Promise<AcquireRequest> => {
    const request = store.request(key);
    expect((await send(store, request)).outcome).toBe('held');
    return request;
  };
  const waiting = async (): Promise<readonly string[]> => (await harness.truth(key)).waiting;
  const until = async (look: () => Promise<boolean>): Promise<void> => {
    const deadline = harness.now() + 10_000;
    while (!(await look())) {
      expect(harness.now()).toBeLessThan(deadline);
      await harness.sleep(5);
    }
  };
  /** Waits for the end of the only hold, with requests that take no place. Resolves to the request that got the lock. */
  const take = async (store: StagedStore, details: Partial<AcquireRequest> = {}): Promise<AcquireRequest> => {
    let request!: AcquireRequest;
    await until(async () => {
      request = store.request(key, { waits: false, ...details });
      return (await send(store, request)).outcome === 'held';
    });
    return request;
  };

  it(`grants the lock to the waiter behind ${CROWD} of a client that lets its first grant expire`, async () => {
    const [holder, frozen, live] = (await stores(3)) as [StagedStore, StagedStore, StagedStore];
    const held = await hold(holder);
    await queue(frozen, requests(frozen, CROWD, { fair: true }));
    const last = live.request(key, { fair: true });
    await queue(live, [last]);
    await holder.release(key, held.id);
    const reply = await send(live, last);
    if (reply.outcome !== 'queued') throw new Error(`the waiter behind all others is ${reply.outcome}`);
    await harness.sleep(reply.retryAfter);
    expect((await send(live, last)).outcome).toBe('held');
    // One grant was not taken. The other tickets keep their places.
    expect(await waiting()).toHaveLength(CROWD - 1);
  });

  it(`gives a waiter its place back behind ${MANY} tickets of absent clients`, async () => {
    const [holder, dead, live, other] = (await stores(4)) as [StagedStore, StagedStore, StagedStore, StagedStore];
    const held = await hold(holder);
    const [first, last] = requests(live, 2, { grantTimeout: 2_000 }) as [AcquireRequest, AcquireRequest];
    await queue(live, [first]);
    await queue(dead, requests(dead, MANY));
    await queue(live, [last]);
    opened.delete(dead);
    await dead.port.close();
    await harness.sleep(200); // there is no event for the moment at which the server has noticed
    await holder.release(key, held.id);
    const taken = await take(other);
    expect(await waiting()).toHaveLength(MANY + 1);
    await other.release(key, taken.id);
    expect((await send(live, last)).outcome).toBe('held');
  });

  it('parks the tickets of a client that is passed over also where the holds do not admit them', async () => {
    const [holder, reader, passed, writer] = (await stores(4)) as [StagedStore, StagedStore, StagedStore, StagedStore];
    const held = await hold(holder);
    const lost = passed.request(key, { ...READ, grantTimeout: 2_000 });
    const read = reader.request(key, READ);
    const before = passed.request(key);
    const after = writer.request(key);
    await queue(passed, [lost]);
    await queue(reader, [read]);
    await queue(passed, [before]);
    await queue(writer, [after]);
    await holder.release(key, held.id);
    expect((await send(reader, read)).outcome).toBe('held');
    expect(await waiting()).toEqual([before.id, after.id]);
    await until(async () => !(await harness.truth(key)).holds.some(({ id }) => id === lost.id));
    // The present writer stops readers that come after it.
    expect((await send(holder, holder.request(key, { ...READ, waits: false }))).outcome).toBe('busy');
    expect(await waiting()).toEqual([after.id, before.id]);
    // A client that retries gets its place back.
    expect((await send(passed, before)).outcome).toBe('queued');
    expect(await waiting()).toEqual([before.id, after.id]);
    await reader.release(key, read.id);
    await until(() => passed.isGranted(before));
    expect(await waiting()).toEqual([after.id]);
  });
});

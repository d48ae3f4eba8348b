import { strict as assert } from 'node:assert';
import type { AcquireRequest, HeldReply } from '../../store/lock-store.js';
import type { CaseList, Stage, StagedStore } from './stage.js';

/** A store without permits refuses them, and has no slots. */
const withPermits =
  (play: (table: Table) => Promise<void>) =>
  async (stage: Stage): Promise<void> => {
    const { port } = await stage.store();
    if (port.lacks?.permits === undefined) await play(new Table(stage, stage.key()));
  };

const permits = (units: number, limit: number, slots?: number) =>
  ({ mode: { kind: 'permits', units, limit }, slots }) as const;

/** One semaphore and the requests of a case. */
class Table {
  constructor(
    readonly stage: Stage,
    readonly key: string,
  ) {}

  client(): Promise<StagedStore> {
    return this.stage.store();
  }

  /** Sends a request that the store grants. */
  async held(store: StagedStore, request: AcquireRequest): Promise<HeldReply> {
    const reply = await this.stage.outcome(store.port.acquire(request));
    assert.ok(reply.outcome === 'held', `the store did not grant a request: ${reply.outcome}`);
    return reply;
  }

  /** Sends a request that the store does not grant. The reply is `busy` if the store could not subscribe in time. */
  async queued(store: StagedStore, request: AcquireRequest): Promise<void> {
    await this.stage.until('a place in the queue', async () => {
      const { outcome } = await this.stage.outcome(store.port.acquire(request));
      assert.notEqual(outcome, 'held');
      return outcome === 'queued';
    });
  }

  /** Waits for a pushed grant, and returns the number of its permits. */
  async pushed(store: StagedStore, request: AcquireRequest): Promise<number | undefined> {
    await this.stage.until('the pushed grant', () => store.pushedGrant(request) !== undefined);
    return store.pushedGrant(request)!.units;
  }

  /** The permits of each hold, and of each waiter. */
  async units(): Promise<{ holds: Record<string, number>; waiters: Record<string, number> }> {
    const store = await this.stage.store();
    const { holds, waiters } = await this.stage.outcome(store.port.inspect(this.key));
    const unitsById = (all: typeof waiters): Record<string, number> =>
      Object.fromEntries(all.map(({ id, mode }) => [id, mode.kind === 'permits' ? mode.units : 0]));
    return { holds: unitsById(holds), waiters: unitsById(waiters) };
  }

  async keepUnits(store: StagedStore, { id }: AcquireRequest, units: number): Promise<void> {
    const { key } = this;
    assert.equal(await this.stage.outcome(store.port.permits!.keepUnits({ key, id, units, keep: 0 })), units);
  }

  async release(store: StagedStore, ...requests: readonly AcquireRequest[]): Promise<void> {
    for (const { id } of requests) assert.equal(await this.stage.outcome(store.release(this.key, id)), true);
  }
}

/** Requests for permits that serve several waiters of a client at the same time. */
export const SLOT_CASES: CaseList = {
  'a request for several slots gets as many as fit, and one hold': withPermits(async (table) => {
    const { key } = table;
    const [store, other] = [await table.client(), await table.client()];
    const all = store.request(key, permits(2, 9, 3));
    const first = await table.held(store, all);
    assert.equal(first.units, 6);
    const [some, one, none] = [3, 5, 2].map((slots) => other.request(key, permits(1, 9, slots)));
    await table.release(store, all);
    await table.held(store, { ...all, slots: 4 });
    assert.deepEqual((await table.units()).holds, { [all.id]: 8 });
    assert.equal((await table.held(other, some!)).units, 1);
    await table.queued(other, none!);
    await table.release(other, some!, none!);
    assert.equal((await table.held(other, { ...one!, mode: permits(1, 9).mode, slots: 1 })).units, 1);
    await table.release(other, one!);
    await table.release(store, all);
  }),

  'a grant reserves a token for each slot, and for each waiter of its batch': withPermits(async (table) => {
    const { key } = table;
    const store = await table.client();
    const [few, many] = [store.request(key, permits(1, 9, 4)), store.request(key, permits(1, 9, 2))];
    const first = await table.held(store, few);
    assert.equal(first.batchSize, 4);
    const second = await table.held(store, { ...many, batchSize: 20, uncontendedBatchSize: 20 });
    assert.equal(second.batchSize, 20);
    assert.ok(second.token >= first.token + 4);
    const last = store.request(key, permits(1, 9));
    const third = await table.held(store, last);
    assert.deepEqual([third.batchSize, third.units], [1, 1]);
    assert.ok(third.token >= second.token + 20);
    await table.release(store, few, many, last);
    // Later holds had the last tokens, so a repetition has one token for each slot.
    const [again, between] = [store.request(key, permits(1, 9, 3)), store.request(key, permits(1, 9))];
    await table.held(store, { ...again, batchSize: 20, uncontendedBatchSize: 20 });
    await table.held(store, between);
    await table.release(store, between);
    const repeated = await table.held(store, { ...again, batchSize: 20, uncontendedBatchSize: 20 });
    assert.deepEqual([repeated.batchSize, repeated.units], [3, 3]);
    await table.release(store, again);
  }),

  'a waiter gets as many slots as are free at its turn, and a repetition the same': withPermits(async (table) => {
    const { key } = table;
    const [store, other] = [await table.client(), await table.client()];
    const [holder, waiter] = [store.request(key, permits(9, 9)), other.request(key, permits(2, 9, 3))];
    await table.held(store, holder);
    await table.queued(other, waiter);
    assert.deepEqual((await table.units()).waiters, { [waiter.id]: 2 });
    if (store.port.permits === undefined) await table.release(store, holder);
    else {
      await table.keepUnits(store, holder, 8);
      assert.deepEqual((await table.units()).waiters, { [waiter.id]: 2 });
      await table.keepUnits(store, holder, 4);
    }
    const units = store.port.permits === undefined ? 6 : 4;
    assert.equal(await table.pushed(other, waiter), units);
    const { token, batchSize } = other.pushedGrant(waiter)!;
    assert.equal(batchSize, units / 2);
    for (const slots of [3, 1, undefined]) {
      const again = await table.held(other, { ...waiter, slots });
      assert.deepEqual([again.units, again.token, again.batchSize], [units, token, units / 2]);
    }
    assert.equal((await table.units()).holds[waiter.id], units);
    await table.release(other, waiter);
    if (store.port.permits !== undefined) await table.release(store, holder);
  }),

  'the slots of a hold are released one after the other, in favour of the next waiters': withPermits(async (table) => {
    const { key, stage } = table;
    const [store, other] = [await table.client(), await table.client()];
    if (store.port.permits === undefined) return;
    const holder = store.request(key, permits(2, 6, 3));
    assert.equal((await table.held(store, holder)).units, 6);
    const [first, second] = [other.request(key, permits(2, 6)), store.request(key, permits(2, 6, 2))];
    await table.queued(other, first);
    await table.queued(store, second);
    await table.keepUnits(store, holder, 4);
    assert.equal(await table.pushed(other, first), 2);
    assert.deepEqual((await stage.truth(key)).waiting, [second.id]);
    const left = await stage.outcome(store.port.renew([{ key, id: holder.id, lease: 60_000 }]));
    assert.ok(Number(left[0]) > 50_000);
    await table.keepUnits(store, holder, 2);
    assert.equal(await table.pushed(store, second), 2);
    assert.deepEqual((await table.units()).holds, { [holder.id]: 2, [first.id]: 2, [second.id]: 2 });
    await table.release(store, holder, second);
    await table.release(other, first);
  }),

  'a request for several slots does not overtake a large request': withPermits(async (table) => {
    const { key, stage } = table;
    const [store, other] = [await table.client(), await table.client()];
    const holders = [1, 2].map(() => store.request(key, permits(2, 6)));
    for (const holder of holders) await table.held(store, holder);
    const [large, small] = [other.request(key, permits(5, 6, 2)), store.request(key, permits(1, 6, 4))];
    await table.queued(other, large);
    await table.queued(store, small);
    await table.release(store, holders[0]!);
    assert.deepEqual((await stage.truth(key)).waiting, [large.id, small.id]);
    await table.release(store, holders[1]!);
    assert.equal(await table.pushed(other, large), 5);
    assert.equal(await table.pushed(store, small), 1);
    await table.release(other, large);
    await table.release(store, small);
  }),

  'a retry changes the number of slots of a ticket, and keeps its place': withPermits(async (table) => {
    const { key, stage } = table;
    const [store, other] = [await table.client(), await table.client()];
    const holder = store.request(key, permits(6, 6));
    await table.held(store, holder);
    const [first, second] = [other.request(key, permits(1, 6, 5)), store.request(key, permits(1, 6))];
    await table.queued(other, first);
    await table.queued(store, second);
    await table.queued(store, { ...second, slots: 9 });
    await table.queued(other, { ...first, slots: 2 });
    assert.deepEqual((await stage.truth(key)).waiting, [first.id, second.id]);
    await table.release(store, holder);
    assert.equal(await table.pushed(other, first), 2);
    assert.equal(await table.pushed(store, second), 4);
    await table.release(other, first);
    await table.release(store, second);
  }),

  'while a fair request waits, a request for several slots gets one': withPermits(async (table) => {
    const { key } = table;
    const [store, other] = [await table.client(), await table.client()];
    const holder = store.request(key, permits(6, 6));
    await table.held(store, holder);
    const [several, fair] = [store.request(key, permits(1, 6, 4)), other.request(key, permits(1, 6))];
    await table.queued(store, several);
    await table.queued(other, { ...fair, fair: true, slots: 3 });
    await table.release(store, holder);
    assert.equal(await table.pushed(store, several), 1);
    assert.equal(await table.pushed(other, fair), 1);
    const more = store.request(key, permits(1, 6, 4));
    assert.equal((await table.held(store, more)).units, 4);
    await table.release(store, several, more);
    await table.release(other, fair);
  }),

  'each uncontended batch of permits ends once, when another client waits': withPermits(async (table) => {
    const { key, stage } = table;
    // The one in the middle waits first.
    const byId = (one: StagedStore, two: StagedStore): number => (one.port.clientId < two.port.clientId ? -1 : 1);
    const clients = [await table.client(), await table.client(), await table.client()].sort(byId);
    const [first, store, last] = clients as [StagedStore, StagedStore, StagedStore];
    const fourth = await table.client();
    const batch = { batchSize: 200, uncontendedBatchSize: 1_000 };
    const holds = clients.map((client) => ({ client, request: client.request(key, permits(1, 9, 3)) }));
    for (const { client, request } of holds) await table.held(client, { ...request, ...batch });
    const own = store.request(key, permits(1, 9, 2));
    await table.queued(store, { ...own, ...batch });
    await stage.until('the messages to the other clients', () => first.yields.length + last.yields.length > 1);
    assert.deepEqual(
      clients.map(({ yields }) => yields.length),
      [1, 0, 1],
    );
    const foreign = [1, 2].map(() => fourth.request(key, permits(1, 9, 2)));
    for (const request of foreign) await table.queued(fourth, { ...request, ...batch });
    await stage.until('the message to the client that waits', () => store.yields.length > 0);
    // A fair request ends all batches, and its messages come last.
    const fair = fourth.request(key, { ...permits(1, 9), fair: true });
    await table.queued(fourth, fair);
    await stage.until('the last messages', () => clients.every(({ yields }) => yields.length > 1));
    for (const { client, request } of holds) assert.deepEqual(client.yields, [request.id, request.id]);
    for (const { id } of [...foreign, fair]) await stage.outcome(fourth.release(key, id));
    await stage.outcome(store.release(key, own.id));
    for (const { client, request } of holds) await table.release(client, request);
  }),

  'the batches of holders end when more permits are in use than exist': withPermits(async (table) => {
    const { key, stage } = table;
    const [store, other] = [await table.client(), await table.client()];
    const holder = store.request(key, permits(2, 9, 4));
    assert.equal((await table.held(store, holder)).units, 8);
    await stage.outcome(other.port.setLimit!(key, 8));
    await stage.outcome(other.port.setLimit!(key, 4));
    await stage.until('the message to the holder', () => store.yields.length > 0);
    assert.deepEqual(store.yields, [holder.id]);
    const waiter = other.request(key, permits(1, 9, 3));
    await table.queued(other, waiter);
    if (store.port.permits === undefined) await table.release(store, holder);
    else {
      await stage.outcome(other.port.permits!.add({ key, id: `${other.port.clientId}:0`, change: -1, permits: 9 }));
      await stage.until('the next message', () => store.yields.length > 1);
      await table.keepUnits(store, holder, 4);
      assert.deepEqual((await stage.truth(key)).waiting, [waiter.id]);
      await table.keepUnits(store, holder, 2);
      assert.equal(await table.pushed(other, waiter), 1);
      await table.release(store, holder);
    }
    await stage.until('the grant', async () => (await table.units()).holds[waiter.id] !== undefined);
    await table.release(other, waiter);
  }),

  'slots are counted among many holders, and each of them ends its uncontended batch': withPermits(async (table) => {
    const { key, stage } = table;
    const [store, other] = [await table.client(), await table.client()];
    const single = Array.from({ length: 12 }, () => store.request(key, permits(1, 30)));
    for (const request of single) await table.held(store, { ...request, uncontendedBatchSize: 1_000 });
    const [large, next, waiter] = [
      store.request(key, permits(3, 30, 5)),
      other.request(key, permits(2, 30, 4)),
      other.request(key, permits(2, 30, 3)),
    ];
    assert.equal((await table.held(store, large)).units, 15);
    assert.equal((await table.held(store, large)).units, 15);
    assert.equal((await table.held(other, next)).units, 2);
    await table.queued(other, waiter);
    await stage.until('the message to each holder', () => new Set(store.yields).size === single.length);
    assert.ok(store.yields.every((id) => single.some((request) => request.id === id)));
    await table.release(store, large);
    assert.equal(await table.pushed(other, waiter), 6);
    const rest = store.request(key, permits(1, 30, 9));
    assert.equal((await table.held(store, rest)).units, 9);
    const last = store.request(key, permits(1, 30, 20));
    assert.equal((await table.held(store, last)).units, 1);
    await table.release(store, ...single, rest, last);
    await table.release(other, next, waiter);
  }),
};

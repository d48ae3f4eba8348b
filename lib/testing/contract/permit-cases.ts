import { strict as assert } from 'node:assert';
import type { PermitStore } from '../../store/permit-store.js';
import type { CaseList, Stage, StagedStore } from './stage.js';

/** A store that cannot change permits in use must refuse it. The case tests only that. */
export const changing =
  (play: (stage: Stage) => Promise<void>) =>
  async (stage: Stage): Promise<void> => {
    const { port } = await stage.store();
    if (port.permits !== undefined) return play(stage);
    if (port.lacks?.permits !== undefined) return;
    const client = await stage.client();
    const semaphore = client.getSemaphore(stage.key(), { permits: 2 });
    assert.equal(await stage.refusal(semaphore.addPermits(1)), 'LOCK_CONFIG');
    assert.equal(await stage.refusal(semaphore.drainPermits()), 'LOCK_CONFIG');
  };

export const permitsOf = ({ port }: StagedStore): PermitStore => port.permits!;
const permits = (units: number) => ({ mode: { kind: 'permits', units, limit: 5 } }) as const;

/** Semaphores whose permits change while they are in use. */
export const PERMIT_CASES: CaseList = {
  'permits that are added count on all clients, and go to waiters': changing(async (stage) => {
    const clients = await stage.clientList(2);
    const key = stage.key();
    const [one, other] = clients.map((client) => client.getSemaphore(key, { permits: 2 }));
    const two = await stage.outcome(one!.acquire(2));
    const waiting = other!.acquire(2);
    await stage.untilWaiting(key, 1);
    assert.equal(await stage.outcome(one!.addPermits(1)), 3);
    assert.equal(await stage.outcome(other!.addPermits(1)), 4);
    const more = await stage.outcome(waiting);
    const adding = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? one! : other!).addPermits(1));
    assert.deepEqual(
      (await stage.outcome(Promise.all(adding))).sort((a, b) => a - b),
      [5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
    );
    assert.equal(await stage.outcome(one!.getPermits()), 14);
    assert.equal(await stage.outcome(one!.availablePermits()), 10);
    assert.equal(await stage.outcome(one!.addPermits(-20)), 0);
    await stage.outcome(one!.setPermits(3));
    assert.equal(await stage.outcome(other!.addPermits(-1)), 2);
    for (const wrong of [0, 1.5, NaN, '2' as never]) {
      assert.equal(await stage.refusal(one!.addPermits(wrong)), 'LOCK_CONFIG');
    }
    await stage.outcome(one!.setPermits(1e15));
    const sums = [await stage.outcome(one!.addPermits(1e15))];
    for (let i = 0; i < 4; i++) sums.push(await stage.outcome(one!.addPermits(1e15)));
    assert.deepEqual(sums, [2e15, 3e15, 4e15, 5e15, 5e15]);
    assert.equal(await stage.outcome(one!.getPermits()), 5e15);
    await stage.outcome(one!.setPermits(2));
    await stage.outcome(one!.release(two));
    await stage.outcome(other!.release(more));
  }),

  'drainPermits takes all free permits, and none while callers wait': changing(async (stage) => {
    const clients = await stage.clientList(2);
    const key = stage.key();
    const [one, other] = clients.map((client) => client.getSemaphore(key, { permits: 5 }));
    const two = await stage.outcome(one!.acquire(2));
    const three = (await stage.outcome(other!.drainPermits({ expire: '20s' })))!;
    assert.deepEqual([three.units, three.kind, three.isHeld], [3, 'permits', true]);
    assert.equal(await stage.outcome(one!.availablePermits()), 0);
    assert.equal(await stage.outcome(one!.drainPermits()), null);
    assert.equal(await stage.outcome(one!.tryAcquire()), null);
    await stage.outcome(three.releaseUnits(1));
    assert.equal(three.units, 2);
    const waiting = one!.acquire(2);
    await stage.untilWaiting(key, 1);
    // One permit is free, and the waiter needs two.
    assert.equal(await stage.outcome(other!.drainPermits()), null);
    await stage.outcome(two.release());
    const granted = await stage.outcome(waiting);
    await stage.outcome(granted.release());
    await stage.outcome(three.release());
    // The number that was set at run time counts, not the number that the object was made with.
    await stage.outcome(one!.setPermits(0));
    assert.equal(await stage.outcome(other!.drainPermits()), null);
    await stage.outcome(one!.setPermits(8));
    const all = (await stage.outcome(other!.drainPermits()))!;
    assert.equal(all.units, 8);
    assert.equal(await stage.outcome(one!.availablePermits()), 0);
    await stage.outcome(all.release());
    assert.equal(await stage.outcome(one!.availablePermits()), 8);
  }),

  'of callers that drain at the same time, one gets all permits': changing(async (stage) => {
    const clients = await stage.clientList(3);
    const key = stage.key();
    const drains = clients.map((client) => client.getSemaphore(key, { permits: 4 }).drainPermits());
    const handles = (await stage.outcome(Promise.all(drains))).filter((handle) => handle !== null);
    assert.deepEqual(
      handles.map(({ units }) => units),
      [4],
    );
    await stage.outcome(handles[0]!.release());
  }),

  'a request for all free permits takes effect once': changing(async (stage) => {
    const store = await stage.store();
    const key = stage.key();
    const [first, all] = [store.request(key, permits(2)), store.request(key, { ...permits(0), waits: false })];
    await stage.outcome(store.port.acquire(first));
    for (let i = 0; i < 3; i++) {
      const reply = await stage.outcome(store.port.acquire(all));
      assert.deepEqual([reply.outcome, 'units' in reply && reply.units], ['held', 3]);
    }
    await stage.outcome(store.release(key, first.id));
    const again = await stage.outcome(store.port.acquire(all));
    assert.deepEqual([again.outcome, 'units' in again && again.units], ['held', 3]);
    assert.deepEqual(await stage.holders(key), [all.id]);
    await stage.outcome(store.release(key, all.id));
  }),

  'a handle releases some of its permits, and the rest later': changing(async (stage) => {
    const clients = await stage.clientList(2);
    const key = stage.key();
    const [one, other] = clients.map((client) => client.getSemaphore(key, { permits: 5 }));
    const five = await stage.outcome(one!.acquire(5));
    assert.equal(five.units, 5);
    const waiting = other!.acquire(3);
    await stage.untilWaiting(key, 1);
    await stage.outcome(five.releaseUnits(1));
    await stage.untilWaiting(key, 1);
    await stage.outcome(Promise.all([five.releaseUnits(1), one!.release(five, 1)]));
    const three = await stage.outcome(waiting);
    assert.equal(five.units, 2);
    assert.ok(five.isHeld);
    await stage.outcome(five.verify());
    assert.equal(await stage.outcome(other!.availablePermits()), 0);
    for (const wrong of [0, -1, 1.5, 3]) assert.equal(await stage.refusal(five.releaseUnits(wrong)), 'LOCK_CONFIG');
    await stage.outcome(five.releaseUnits(2));
    assert.equal(five.isHeld, false);
    assert.equal(await stage.refusal(five.releaseUnits(1)), 'LOCK_LOST');
    assert.equal(await stage.outcome(other!.availablePermits()), 2);
    await stage.outcome(three.release());
    const lock = await stage.outcome(clients[0]!.acquire(stage.key('l')));
    assert.equal(lock.units, 0);
    assert.equal(await stage.refusal(lock.releaseUnits(1)), 'LOCK_CONFIG');
    await stage.outcome(lock.release());
  }),

  'the release of some permits may arrive twice, late, or in another order': changing(async (stage) => {
    const store = await stage.store();
    const key = stage.key();
    const [hold, waiter] = [store.request(key, permits(5)), store.request(key, permits(3))];
    await stage.outcome(store.port.acquire(hold));
    await stage.outcome(store.port.acquire(waiter));
    const keep = (units: number, ms = 0) =>
      stage.outcome(permitsOf(store).keepUnits({ key, id: hold.id, units, keep: ms }));
    assert.equal(await keep(3), 3);
    assert.equal(await keep(3), 3);
    assert.equal(await keep(4), 3);
    assert.deepEqual(await stage.holders(key), [hold.id]);
    assert.equal(await keep(2), 2);
    await stage.until('the grant', () => store.isGranted(waiter));
    assert.equal(await keep(3), 2);
    await store.release(key, waiter.id);
    // The permit that is released stays taken, even after the release of the rest, and a duplicate takes no other one.
    assert.equal(await keep(1, 60_000), 1);
    assert.equal(await keep(1, 60_000), 1);
    assert.equal(await stage.outcome(store.release(key, hold.id)), true);
    assert.equal(await keep(1), 'not-held');
    const { holds } = await stage.outcome(store.port.inspect(key));
    assert.deepEqual(
      holds.map(({ kept, mode }) => ({ kept, mode })),
      [{ kept: true, mode: { kind: 'permits', units: 1, limit: 5 } }],
    );
    await stage.outcome(store.port.forceRelease(key));
  }),
};

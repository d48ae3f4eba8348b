import { strict as assert } from 'node:assert';
import type { LockStore } from '../../store/lock-store.js';
import type { QuorumMember } from '../../store/quorum-member.js';
import type { CaseList } from './stage.js';
import { offered } from './handover-cases.js';
import { idOf, keeping, latchesOf } from './latch-cases.js';
import { changing, permitsOf } from './permit-cases.js';

/** For stores behind a network: a call that arrives late, or twice with other calls between, takes effect once. */
export const NETWORK_CASES: CaseList = {
  'an acquire that arrives after its acquisition was abandoned holds nothing': async (stage) => {
    const store = await stage.store();
    const key = stage.key();
    const request = store.request(key);
    assert.equal(await stage.outcome(store.release(key, request.id, 5_000)), false);
    assert.equal((await stage.outcome(store.port.acquire(request))).outcome, 'left');
    assert.deepEqual(await stage.truth(key), { holds: [], waiting: [] });
    const next = store.request(key);
    assert.equal((await stage.outcome(store.port.acquire(next))).outcome, 'held');
    await stage.outcome(store.release(key, next.id));
  },

  'an adoption that arrives after it was abandoned leaves the offer as it is': async (stage) => {
    const { key, other, adoption } = await offered(stage);
    assert.equal(await stage.outcome(other.release(key, adoption.id, 5_000)), false);
    assert.equal((await stage.outcome(other.port.acquire(adoption))).outcome, 'left');
    assert.deepEqual(await stage.holders(key), ['handover:1']);
    const next = other.request(key, { waits: false, adopts: 'handover:1' });
    assert.equal((await stage.outcome(other.port.acquire(next))).outcome, 'held');
    await stage.outcome(other.release(key, next.id));
  },

  'an abandonment that arrives late ends the grant that came before it': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const key = stage.key();
    const [first, second, third] = [store.request(key), other.request(key), store.request(key)];
    await stage.outcome(store.port.acquire(first));
    await stage.outcome(other.port.acquire(second));
    await stage.outcome(store.port.acquire(third));
    await stage.outcome(store.release(key, first.id));
    await stage.until('the grant', () => other.isGranted(second));
    assert.equal(await stage.outcome(other.release(key, second.id, 5_000)), true);
    await stage.until('the next grant', () => store.isGranted(third));
    assert.deepEqual(await stage.holders(key), [third.id]);
    assert.equal((await stage.outcome(other.port.acquire(second))).outcome, 'left');
    await stage.outcome(store.release(key, third.id));
  },

  'a retry with an age keeps its place, however late it arrives': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const key = stage.key();
    const held = store.request(key);
    const [first, second] = [other.request(key, { age: 0 }), store.request(key, { age: 0 })];
    await stage.outcome(store.port.acquire(held));
    // The reply is `busy` if the store could not subscribe in time, on a busy machine.
    const join = (from: typeof store, request: typeof first) =>
      stage.until(
        'a place in the queue',
        async () => (await stage.outcome(from.port.acquire(request))).outcome === 'queued',
      );
    await join(other, first);
    await stage.sleep(5);
    await join(store, second);
    await stage.sleep(5);
    await join(other, first);
    assert.deepEqual((await stage.truth(key)).waiting, [first.id, second.id]);
    for (const [from, { id }] of [
      [store, second],
      [other, first],
      [store, held],
    ] as const) {
      await stage.outcome(from.release(key, id));
    }
  },

  'ending named holds twice or late ends no newer hold': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const operator = store.port as Partial<QuorumMember> & LockStore;
    if (operator.endHolds === undefined) return; // several masters: each has its own grants
    const key = stage.key();
    const [first, second] = [store.request(key), other.request(key)];
    await stage.outcome(store.port.acquire(first));
    await stage.outcome(other.port.acquire(second));
    const { holds } = await stage.outcome(operator.inspect(key));
    assert.equal((await stage.outcome(operator.endHolds(key, holds))).holds, 1);
    assert.equal((await stage.outcome(operator.endHolds(key, holds))).holds, 0);
    assert.deepEqual(await stage.holders(key), [second.id]);
    await stage.outcome(other.release(key, second.id));
    // An acquisition that was ended by force before it received its grant retries under the same id.
    await stage.sleep(5);
    await stage.outcome(store.port.acquire(first));
    assert.equal((await stage.outcome(operator.endHolds(key, holds))).holds, 0);
    assert.deepEqual(await stage.holders(key), [first.id]);
    await stage.outcome(store.release(key, first.id));
  },

  'a call that adds permits takes effect once, and undoes no setPermits': changing(async (stage) => {
    const store = await stage.store();
    const client = await stage.client();
    const key = stage.key();
    const semaphore = client.getSemaphore(key, { permits: 2 });
    const call = { key, id: store.request(key).id, change: 3, permits: 2 };
    for (let i = 0; i < 3; i++) assert.equal(await stage.outcome(permitsOf(store).add(call)), 5);
    await stage.outcome(semaphore.setPermits(1));
    assert.equal(await stage.outcome(permitsOf(store).add(call)), 1);
    assert.equal(await stage.outcome(permitsOf(store).add({ ...call, id: store.request(key).id })), 4);
  }),

  'a request for all free permits that arrives after its release holds nothing': changing(async (stage) => {
    const store = await stage.store();
    const key = stage.key();
    const all = store.request(key, { mode: { kind: 'permits', units: 0, limit: 5 }, waits: false });
    await stage.outcome(store.port.acquire(all));
    await stage.outcome(store.release(key, all.id, 5_000));
    assert.equal((await stage.outcome(store.port.acquire(all))).outcome, 'left');
  }),

  'a call that changes a latch takes effect once, however often it arrives': keeping(async (stage) => {
    const store = await stage.store();
    const latches = latchesOf(store);
    const key = stage.key();
    const set = { key, id: idOf(store), count: 2, lifetime: 60_000 };
    const [first, last] = [idOf(store), idOf(store)];
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await stage.outcome(latches.countDown(key, `${first}/early`)), { left: 0, counted: false });
    }
    assert.equal(await stage.outcome(latches.setCount(set)), true);
    assert.equal(await stage.outcome(latches.setCount(set)), true);
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await stage.outcome(latches.countDown(key, first)), { left: 1, counted: true });
    }
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await stage.outcome(latches.countDown(key, last)), { left: 0, counted: true });
    }
    // A late duplicate neither makes the latch again nor counts for the next one.
    assert.equal(await stage.outcome(latches.setCount(set)), true);
    assert.equal((await stage.outcome(latches.count(key, 0, []))).left, 0);
    await stage.outcome(latches.setCount({ ...set, id: idOf(store), count: 1 }));
    assert.deepEqual(await stage.outcome(latches.countDown(key, last)), { left: 1, counted: true });
    await stage.outcome(latches.countDown(key, idOf(store)));
  }),

  'a duplicate deletion of a latch does not delete the next one': keeping(async (stage) => {
    const store = await stage.store();
    const latches = latchesOf(store);
    const key = stage.key();
    const set = { key, id: idOf(store), count: 1, lifetime: 60_000 };
    const call = idOf(store);
    await stage.outcome(latches.setCount(set));
    assert.equal(await stage.outcome(latches.delete(key, idOf(store), call)), false);
    for (let i = 0; i < 2; i++) assert.equal(await stage.outcome(latches.delete(key, call, set.id)), true);
    await stage.outcome(latches.setCount({ ...set, id: `${set.id}/next` }));
    assert.equal(await stage.outcome(latches.delete(key, call, set.id)), true);
    assert.equal(await stage.outcome(latches.delete(key, idOf(store), set.id)), false);
    assert.equal((await stage.outcome(latches.count(key, 0, []))).left, 1);
    assert.equal(await stage.outcome(latches.delete(key, idOf(store), `${set.id}/next`)), true);
  }),
};

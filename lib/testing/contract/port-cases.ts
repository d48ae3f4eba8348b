import { strict as assert } from 'node:assert';
import type { AcquireAllReply } from '../../store/lock-store.js';
import type { CaseList } from './stage.js';

/** The port itself: a call that is repeated under its id takes effect once. */
export const PORT_CASES: CaseList = {
  'a duplicate acquire adds no second hold': async (stage) => {
    const store = await stage.store();
    const key = stage.key();
    const request = store.request(key);
    const first = await stage.outcome(store.port.acquire(request));
    const again = await stage.outcome(store.port.acquire(request));
    assert.equal(first.outcome, 'held');
    assert.equal(again.outcome, 'held');
    assert.equal('token' in again && again.token, 'token' in first && first.token);
    assert.deepEqual(await stage.holders(key), [request.id]);
    assert.equal(await stage.outcome(store.release(key, request.id)), true);
    assert.deepEqual(await stage.holders(key), []);
  },

  'a duplicate acquire adds no second place in the queue': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const key = stage.key();
    const [first, second, third] = [store.request(key), other.request(key), store.request(key)];
    await stage.outcome(store.port.acquire(first));
    for (const [from, request] of [
      [other, second],
      [store, third],
      [other, second],
    ] as const) {
      const reply = await stage.outcome(from.port.acquire(request));
      assert.equal(reply.outcome, 'queued');
      assert.deepEqual('holders' in reply && reply.holders, [first.id]);
    }
    assert.deepEqual((await stage.truth(key)).waiting, [second.id, third.id]);
    assert.equal(await stage.outcome(store.release(key, first.id)), true);
    await stage.until('the grant', () => other.isGranted(second));
    assert.deepEqual(await stage.holders(key), [second.id]);
    await stage.outcome(store.release(key, third.id));
    await stage.outcome(other.release(key, second.id));
  },

  'a duplicate release does not affect the next holder': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const key = stage.key();
    const [first, second] = [store.request(key), other.request(key)];
    await stage.outcome(store.port.acquire(first));
    await stage.outcome(other.port.acquire(second));
    assert.equal(await stage.outcome(store.release(key, first.id)), true);
    assert.equal(await stage.outcome(store.release(key, first.id)), false);
    assert.deepEqual(await stage.holders(key), [second.id]);
    assert.equal(await stage.outcome(other.release(key, second.id)), true);
  },

  'a duplicate release with a next request adds one hold': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const key = stage.key();
    const [first, between, next] = [store.request(key), other.request(key), store.request(key)];
    await stage.outcome(store.port.acquire(first));
    await stage.outcome(other.port.acquire(between));
    const release = { key, id: first.id, tombstoneFor: 0, keep: 0, next };
    const reply = await stage.outcome(store.port.release(release));
    assert.deepEqual([reply.released, reply.next?.outcome], [true, 'queued']);
    assert.equal((await stage.outcome(store.port.release(release))).released, false);
    assert.deepEqual(await stage.holders(key), [between.id]);
    assert.deepEqual((await stage.truth(key)).waiting, [next.id]);
    await stage.outcome(other.release(key, between.id));
    assert.deepEqual(await stage.holders(key), [next.id]);
    await stage.outcome(store.release(key, next.id));
  },

  'a release serves all waiters, if its next request is refused or enters again': async (stage) => {
    for (const outcome of ['upgrade', 'held'] as const) {
      const [store, other] = [await stage.store(), await stage.store()];
      const key = stage.key(outcome);
      const ada = { owner: 'ada', waits: false };
      const [writer, reader] = [store.request(key, ada), store.request(key, { ...ada, mode: { kind: 'read' } })];
      for (const request of [writer, reader]) {
        assert.equal((await stage.outcome(store.port.acquire(request))).outcome, 'held');
      }
      // More than one script grants to.
      const waiters = Array.from({ length: 40 }, () => other.request(key, { mode: { kind: 'read' } }));
      for (const waiter of waiters) {
        const joins = async () => (await stage.outcome(other.port.acquire(waiter))).outcome === 'queued';
        await stage.until('a place in the queue', joins);
      }
      const next = store.request(key, outcome === 'held' ? { ...ada, mode: { kind: 'read' } } : ada);
      const reply = await stage.outcome(store.port.release({ key, id: writer.id, tombstoneFor: 0, keep: 0, next }));
      assert.equal(reply.released, true);
      if (outcome === 'upgrade') assert.equal(reply.next?.outcome, outcome);
      // Of several masters, too few may have answered that the request enters again: it asks once more.
      const enters = async () => (await stage.outcome(store.port.acquire(next))).outcome === 'held';
      if (outcome === 'held' && reply.next?.outcome !== 'held') await stage.until('the hold', enters);
      for (const waiter of waiters) await stage.until('the grant', () => other.isGranted(waiter));
      for (const { id } of [reader, next]) await stage.outcome(store.release(key, id));
      for (const { id } of waiters) await stage.outcome(other.release(key, id));
    }
  },

  'a waiter that asks when a lease has ended gets the lock, and so do all that are compatible': async (stage) => {
    for (const way of ['asks', 'is asked for by a release'] as const) {
      const [store, other] = [await stage.store(), await stage.store()];
      const key = stage.key(way);
      const writer = store.request(key, { lease: way === 'asks' ? 1_000 : 30_000 });
      assert.equal((await stage.outcome(store.port.acquire(writer))).outcome, 'held');
      const [first, ...waiters] = [store, ...Array.from({ length: 40 }, () => other)].map((each) => ({
        each,
        request: each.request(key, { mode: { kind: 'read' } }),
      }));
      const join = ({ each, request }: NonNullable<typeof first>) =>
        stage.until(
          'a place in the queue',
          async () => (await stage.outcome(each.port.acquire(request))).outcome === 'queued',
        );
      await join(first!);
      // Together: one after another may take longer than the lease.
      await Promise.all(waiters.map(join));
      const next = first!.request;
      if (way === 'asks') {
        await stage.until('the end of the lease', async () => (await stage.holders(key)).length === 0);
        const isHeld = async () => (await stage.outcome(store.port.acquire(next))).outcome === 'held';
        await stage.until('the hold', isHeld);
      } else {
        await stage.outcome(store.port.release({ key, id: writer.id, tombstoneFor: 0, keep: 0, next }));
      }
      for (const { request } of waiters) await stage.until('the grant', () => other.isGranted(request));
      for (const { each, request } of [first!, ...waiters]) await stage.outcome(each.release(key, request.id));
    }
  },

  'a waiter is notified when a kept key becomes free, even if the release has a next request': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const key = stage.key();
    const [first, second, next] = [store.request(key), other.request(key), store.request(key)];
    await stage.outcome(store.port.acquire(first));
    // The reply is `busy` if the store could not subscribe in time, on a busy machine.
    const acquireAgain = async () => (await stage.outcome(other.port.acquire(second))).outcome === 'queued';
    await stage.until('a place in the queue', acquireAgain);
    const release = { key, id: first.id, tombstoneFor: 0, keep: 600, next };
    const reply = await stage.outcome(store.port.release(release));
    assert.deepEqual([reply.released, reply.next?.outcome], [true, 'queued']);
    // Long before the waiter would retry by itself.
    await stage.until('the message to retry', () => other.isToAsk(second));
    await stage.outcome(store.release(key, next.id));
    await stage.until('the end of the kept hold', async () => (await stage.holders(key)).length === 0);
    assert.equal((await stage.outcome(other.port.acquire(second))).outcome, 'held');
    await stage.outcome(other.release(key, second.id));
  },

  'a hold that has ended is not renewed, and a renewal never shortens a lease': async (stage) => {
    const store = await stage.store();
    const key = stage.key();
    const request = store.request(key);
    await stage.outcome(store.port.acquire(request));
    const { id } = request;
    const [left] = await stage.outcome(store.port.renew([{ key, id, lease: 60_000 }]));
    assert.ok(typeof left === 'number' && left > 50_000 && left <= 60_000);
    for (const lease of [0, 1_000]) {
      const [same] = await stage.outcome(store.port.renew([{ key, id, lease }]));
      assert.ok(typeof same === 'number' && same > 50_000, 'a renewal has shortened the lease');
    }
    await stage.outcome(store.release(key, id));
    const gone = await stage.outcome(
      store.port.renew([
        { key, id, lease: 1_000 },
        { key, id: `${id}0`, lease: 0 },
      ]),
    );
    assert.deepEqual(gone, ['not-held', 'not-held']);
    assert.deepEqual(await stage.truth(key), { holds: [], waiting: [] });
  },

  'several locks are acquired in one step, all or none, and a duplicate adds nothing': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const keys = [stage.key('a'), stage.key('b')];
    const requests = keys.map((key) => store.request(key, { waits: false }));
    const taken = await stage.outcome(store.port.acquireAll(requests));
    if (taken === undefined) return; // a store may leave that to the engine, which asks for each key
    const tokensOf = (reply: AcquireAllReply | undefined): number[] => {
      if (reply === undefined || !('map' in reply)) assert.fail('the keys were not acquired');
      return reply.map(({ token }) => token);
    };
    assert.deepEqual(tokensOf(await stage.outcome(store.port.acquireAll(requests))), tokensOf(taken));
    const more = [stage.key('c'), ...keys].map((key) => other.request(key, { waits: false }));
    const refused = await stage.outcome(other.port.acquireAll(more));
    if (refused !== undefined) {
      assert.deepEqual(refused, { outcome: 'busy', key: keys[0], holders: [requests[0]!.id] });
    }
    assert.deepEqual(await stage.holders(more[0]!.key), []);
    for (const { key, id } of requests) assert.equal(await stage.outcome(store.release(key, id)), true);
  },

  'a forced release notifies the holder and ends its hold': async (stage) => {
    const [store, other] = [await stage.store(), await stage.store()];
    const key = stage.key();
    const request = store.request(key);
    await stage.outcome(store.port.acquire(request));
    const by = 'Ann Łąck <ann@bastion>';
    const { holds } = await stage.outcome(other.port.forceRelease(key, undefined, by));
    assert.equal(holds, 1);
    await stage.until('the message about the revocation', () => store.revoked.length > 0);
    assert.ok(store.revoked.every((id) => id === request.id));
    assert.ok(store.revokers.every((each) => each === by));
    assert.deepEqual(await stage.outcome(store.port.renew([{ key, id: request.id, lease: 1_000 }])), ['not-held']);
    assert.equal(await stage.outcome(store.release(key, request.id)), false);
  },
};

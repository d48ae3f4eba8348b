import { strict as assert } from 'node:assert';
import type { AcquireRequest } from '../../store/lock-store.js';
import type { CaseList, Stage } from './stage.js';

/** Holds that pass from one client to another. */
export const HANDOVER_CASES: CaseList = {
  'a lock that was handed over is adopted by one other client, with a larger token': async (stage) => {
    const [one, other, third] = await stage.clientList(3);
    const key = stage.key();
    const lock = await stage.outcome(one!.acquire(key));
    const text = await stage.outcome(lock.handOver());
    assert.equal(lock.isHeld, false);
    assert.equal(lock.signal.aborted, false);
    assert.equal((await stage.holders(key)).length, 1);
    assert.equal(await stage.outcome(() => third!.tryAcquire(key)), null);
    assert.equal(await stage.outcome(() => one!.tryAcquire(key)), null);

    const adopted = await stage.outcome(other!.adopt(text));
    assert.equal(adopted.isHeld, true);
    assert.equal(adopted.key, key);
    assert.ok(adopted.fencingToken > lock.fencingToken);
    assert.deepEqual(await stage.holders(key), [adopted.owner]);
    assert.equal(await stage.outcome(lock.release()), false);
    assert.deepEqual(await stage.holders(key), [adopted.owner]);
    for (const late of [third!, one!, other!]) assert.equal(await stage.refusal(late.adopt(text)), 'LOCK_NOT_HELD');
    await stage.outcome(adopted.verify());
    assert.equal(await stage.outcome(adopted.release()), true);
    assert.equal(await stage.refusal(third!.adopt(text)), 'LOCK_NOT_HELD');
    const next = await stage.outcome(one!.acquire(key));
    assert.ok(next.fencingToken > adopted.fencingToken);
    await stage.outcome(next.release());
  },

  'of several clients that adopt a lock at the same time one at most succeeds': async (stage) => {
    const [one, ...others] = await stage.clientList(4);
    const key = stage.key();
    const text = await stage.outcome((await stage.outcome(one!.acquire(key))).handOver(500));
    const tries = await stage.outcome(Promise.allSettled(others.map((other) => other.adopt(text))));
    const adopted = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    assert.ok(adopted.length <= 1);
    for (const lock of adopted) assert.equal(await stage.outcome(lock.release()), true);
  },

  'a text that no client adopts in time is refused, and the lock is free': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key));
    const text = await stage.outcome(lock.handOver(300));
    const next = await stage.outcome(other.acquire(key, { waitTimeout: 10_000 }));
    assert.equal(await stage.refusal(one.adopt(text)), 'LOCK_NOT_HELD');
    assert.equal(next.isHeld, true);
    assert.ok(next.fencingToken > lock.fencingToken);
    await stage.outcome(next.release());
  },

  'an adopted lock is renewed, and waiters get it after its release': async (stage) => {
    const options = { renewedLease: 600 };
    const [one, other, third] = await stage.clientList(3, options);
    const key = stage.key();
    const text = await stage.outcome((await stage.outcome(one!.acquire(key))).handOver());
    const adopted = await stage.outcome(other!.adopt(text));
    const [own, waiting] = [one!.acquire(key), third!.acquire(key)];
    await stage.untilWaiting(key, 2);
    await stage.sleep(1_500);
    assert.equal(adopted.isHeld, true);
    assert.equal(await stage.outcome(adopted.release()), true);
    // Their requests may have reached the store in either order.
    await Promise.all(
      [own, waiting].map(async (acquiring) => {
        const next = await stage.outcome(acquiring);
        assert.ok(next.fencingToken > adopted.fencingToken);
        await stage.outcome(next.release());
      }),
    );
  },

  'waiters of the process that hands a lock over wait for the adopter': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key));
    const waiting = one.acquire(key);
    const text = await stage.outcome(lock.handOver());
    const adopted = await stage.outcome(other.adopt(text));
    await stage.untilWaiting(key, 1);
    assert.equal(await stage.outcome(adopted.release()), true);
    const next = await stage.outcome(waiting);
    assert.ok(next.fencingToken > adopted.fencingToken);
    await stage.outcome(next.release());
  },

  'every kind of lock keeps its kind': async (stage) => {
    for (const [options, kind] of [
      [{ fair: true }, 'exclusive'],
      [{ kind: 'read' }, 'read'],
      [{ kind: 'write' }, 'exclusive'],
      [{ permits: 3, units: 2 }, 'permits'],
    ] as const) {
      const [one, other] = [await stage.client(), await stage.client()];
      const key = stage.key();
      // Redlock has no permits.
      const lock = await stage.outcome(one.acquire(key, options).catch(refusedPermits));
      if (lock === undefined) continue;
      const adopted = await stage.outcome(other.adopt(await stage.outcome(lock.handOver())));
      assert.equal(adopted.kind, kind);
      assert.ok(adopted.fencingToken > lock.fencingToken);
      const sameKind = kind === 'permits' ? { permits: 3 } : ({ kind: 'read' } as const);
      const beside = await stage.outcome(() => one.tryAcquire(key, sameKind));
      assert.equal(beside !== null, kind !== 'exclusive');
      assert.equal(await stage.outcome(() => one.tryAcquire(key)), null);
      if (beside !== null) await stage.outcome(beside.release());
      assert.equal(await stage.outcome(adopted.release()), true);
    }
  },

  'a lock that cannot be handed over stays held': async (stage) => {
    const client = await stage.client();
    await refusedToHandOver(stage, client.acquire(stage.key(), { owner: 'me' }));
    await refusedToHandOver(stage, client.acquire(stage.key(), { holdAtLeast: 10 }));
    await refusedToHandOver(stage, client.acquire([stage.key('a'), stage.key('b')]));
    const key = stage.key();
    await stage.outcome(
      client.run(key, async (outer) => {
        const inner = await client.acquire(key);
        for (const lock of [outer, inner]) assert.equal(await stage.refusal(lock.handOver()), 'LOCK_CONFIG');
        assert.equal(outer.isHeld, true);
        await inner.release();
        const reading = await client.acquire(key, { kind: 'read' });
        for (const lock of [outer, reading]) assert.equal(await stage.refusal(lock.handOver()), 'LOCK_CONFIG');
        await reading.release();
        assert.equal(outer.isHeld, true);
      }),
    );
  },

  'a scope whose lock was handed over holds nothing, and ends without an error': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const text = await stage.outcome(
      one.run(key, async (lock) => {
        const made = await lock.handOver();
        assert.equal(await one.tryAcquire(key), null);
        assert.equal(await stage.refusal(lock.extend(1_000)), 'LOCK_LOST');
        return made;
      }),
    );
    const adopted = await stage.outcome(other.adopt(text));
    assert.equal(await stage.outcome(adopted.release()), true);
  },

  'a lock that was released by force cannot be adopted': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const text = await stage.outcome((await stage.outcome(one.acquire(key))).handOver());
    assert.equal(await stage.outcome(other.forceRelease(key)), true);
    assert.equal(await stage.refusal(other.adopt(text)), 'LOCK_NOT_HELD');
  },

  'a duplicate offer makes no second offer, and none that lasts longer': async (stage) => {
    const store = await stage.store();
    const key = stage.key();
    const { id } = await held(stage, store, key);
    const offer = { key, id, offer: 'handover:1', lease: 2_000 };
    assert.ok(Number(await stage.outcome(store.port.offer(offer))) <= 2_000);
    await stage.sleep(100);
    assert.ok(Number(await stage.outcome(store.port.offer(offer))) <= 1_900);
    assert.deepEqual(await stage.holders(key), ['handover:1']);
    const [left] = await stage.outcome(store.port.renew([{ key, id, lease: 60_000 }]));
    assert.equal(left, 'not-held');
    assert.equal(await stage.outcome(store.release(key, id)), false);
    assert.equal(await stage.outcome(store.port.offer({ ...offer, offer: 'handover:2' })), 'not-held');
    assert.ok((await stage.truth(key)).holds[0]!.left <= 1_900);
    assert.equal(await stage.outcome(store.release(key, 'handover:1')), true);
  },

  'a duplicate adoption adds no second hold, and a late one holds nothing': async (stage) => {
    const { key, store, other, adoption: request } = await offered(stage);
    const first = await stage.outcome(other.port.acquire(request));
    const again = await stage.outcome(other.port.acquire(request));
    assert.equal(first.outcome, 'held');
    assert.equal('token' in again && again.token, 'token' in first && first.token);
    assert.deepEqual(await stage.holders(key), [request.id]);
    const second = store.request(key, { waits: false, adopts: 'handover:1' });
    assert.equal((await stage.outcome(store.port.acquire(second))).outcome, 'left');
    assert.equal(await stage.outcome(other.release(key, request.id)), true);
    assert.equal((await stage.outcome(other.port.acquire(request))).outcome, 'left');
    assert.deepEqual(await stage.holders(key), []);
  },

  'a hold whose owner has another one is not offered': async (stage) => {
    const store = await stage.store();
    const key = stage.key();
    const { id } = await held(stage, store, key);
    const reading = store.request(key, { owner: id, mode: { kind: 'read' } });
    assert.equal((await stage.outcome(store.port.acquire(reading))).outcome, 'held');
    assert.equal(await stage.outcome(store.port.offer({ key, id, offer: 'handover:1', lease: 1_000 })), 'shared');
    assert.deepEqual(await stage.holders(key), [id, reading.id].sort());
    await stage.outcome(store.release(key, id));
    await stage.outcome(store.release(key, reading.id));
  },
};

type StagedStore = Awaited<ReturnType<Stage['store']>>;

interface Offered {
  readonly key: string;
  readonly store: StagedStore;
  readonly other: StagedStore;
  readonly adoption: AcquireRequest;
}

/** A lock that one client has offered as `handover:1`, and the request by which the other one adopts it. */
export async function offered(stage: Stage): Promise<Offered> {
  const [store, other] = [await stage.store(), await stage.store()];
  const key = stage.key();
  const { id } = await held(stage, store, key);
  await stage.outcome(store.port.offer({ key, id, offer: 'handover:1', lease: 10_000 }));
  return { key, store, other, adoption: other.request(key, { waits: false, adopts: 'handover:1' }) };
}

async function held(stage: Stage, store: StagedStore, key: string): Promise<{ id: string }> {
  const request = store.request(key);
  assert.equal((await stage.outcome(store.port.acquire(request))).outcome, 'held');
  return request;
}

function refusedPermits(error: { code?: string }): undefined {
  assert.equal(error.code, 'LOCK_CONFIG');
}

async function refusedToHandOver(
  stage: Stage,
  acquiring: ReturnType<Awaited<ReturnType<Stage['client']>>['acquire']>,
): Promise<void> {
  const lock = await stage.outcome(acquiring);
  assert.equal(await stage.refusal(lock.handOver()), 'LOCK_CONFIG');
  assert.equal(lock.isHeld, true);
  await stage.outcome(lock.verify());
  assert.equal(await stage.outcome(lock.release()), true);
}

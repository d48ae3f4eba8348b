import { strict as assert } from 'node:assert';
import type { CountDownLatch as Latch } from '../../service/objects/count-down-latch.js';
import type { LatchStore } from '../../store/latch-store.js';
import { AT_ONCE, type CaseList, type Stage, type StagedStore } from './stage.js';

/** A store without latches must refuse them. The case tests only that. */
export const keeping =
  (play: (stage: Stage) => Promise<void>) =>
  async (stage: Stage): Promise<void> => {
    if ((await stage.store()).port.latches !== undefined) return play(stage);
    const client = await stage.client();
    assert.throws(() => client.getCountDownLatch(stage.key()), { code: 'LOCK_CONFIG' });
  };

export const latchesOf = ({ port }: StagedStore): LatchStore => port.latches!;

let lastId = 0;

/** Returns a new id for a call. */
export function idOf({ port }: StagedStore): string {
  lastId += 1;
  return `${port.clientId}:${lastId}`;
}

/** Count-down latches: set, counted down, awaited, expired. */
export const LATCH_CASES: CaseList = {
  'a latch opens for all waiters when its count reaches 0': keeping(async (stage) => {
    const clients = await stage.clientList(2);
    const key = stage.key();
    const [one, other] = clients.map((client) => client.getCountDownLatch(key)) as [Latch, Latch];
    assert.equal(await stage.outcome(one.await()), true);
    assert.equal(await stage.outcome(one.trySetCount(2)), true);
    assert.equal(await stage.outcome(other.trySetCount(5)), false);
    const waiting = [one.await(), other.await()];
    assert.equal(await stage.outcome(other.await(20)), false);
    assert.equal(await stage.outcome(other.countDown()), 1);
    assert.equal(await stage.outcome(other.await({ waitTimeout: 0 })), false);
    const since = stage.now();
    assert.equal(await stage.outcome(one.countDown()), 0);
    assert.deepEqual(await stage.outcome(Promise.all(waiting)), [true, true]);
    assert.ok(stage.now() - since < AT_ONCE);
    assert.equal(await stage.outcome(one.getCount()), 0);
  }),

  'a wait without a time ends only when the latch opens, and a wait with a time returns false': keeping(
    async (stage) => {
      const client = await stage.client({ defaults: { waitTimeout: 20 } });
      const latch = client.getCountDownLatch(stage.key());
      assert.equal(await stage.outcome(latch.trySetCount(1)), true);
      let ended = false;
      const waiting = Promise.all([latch.await(), latch.await({}), latch.await(Infinity)]);
      void waiting.finally(() => (ended = true)).catch(() => undefined);
      for (const wait of [0, 1, 100, { waitTimeout: 100 }]) assert.equal(await stage.outcome(latch.await(wait)), false);
      assert.equal(ended, false);
      await stage.outcome(latch.countDown());
      assert.deepEqual(await stage.outcome(waiting), [true, true, true]);
      assert.equal(await stage.outcome(latch.await(0)), true);
    },
  ),

  'waiters of one latch do not wait for the next one': keeping(async (stage) => {
    const clients = await stage.clientList(2);
    const key = stage.key();
    const [one, other] = clients.map((client) => client.getCountDownLatch(key)) as [Latch, Latch];
    await stage.outcome(one.trySetCount(1));
    const first = other.await();
    assert.equal(await stage.outcome(other.await(20)), false);
    assert.equal(await stage.outcome(one.countDown()), 0);
    assert.equal(await stage.outcome(one.trySetCount(1)), true);
    assert.equal(await stage.outcome(other.await(20)), false);
    assert.equal(await stage.outcome(first), true);
    await stage.outcome(one.countDown());
  }),

  'a latch that expires while it is awaited is reported as lost, even if it was set again': keeping(async (stage) => {
    const client = await stage.client();
    for (const next of [0, 1]) {
      const latch = client.getCountDownLatch(stage.key(`l${next}`));
      await stage.outcome(latch.trySetCount(2, { expire: 300 }));
      const waiting = stage.refusal(latch.await('30s'));
      await stage.outcome(latch.countDown());
      await stage.until('the end of the latch', async () => (await stage.outcome(latch.getCount())) === 0);
      if (next > 0) assert.equal(await stage.outcome(latch.trySetCount(next)), true);
      assert.equal(await waiting, 'LOCK_LATCH_LOST');
      if (next > 0) assert.equal(await stage.outcome(latch.countDown()), 0);
    }
  }),

  'a caller that polls with short waits learns that the latch is gone, has opened, or is another one': keeping(
    async (stage) => {
      const [polling, other, third] = await stage.clientList(3);
      const gone = async (latch: Latch): Promise<void> =>
        stage.until('the end of the latch', async () => (await stage.outcome(latch.getCount())) === 0);
      for (const [name, end] of Object.entries<(latch: Latch) => Promise<unknown>>({
        expired: (latch) => latch.countDown(),
        deleted: (latch) => latch.delete(),
      })) {
        const key = stage.key(name);
        const ask = (wait: number): Promise<boolean> => polling!.getCountDownLatch(key).await(wait);
        const latch = other!.getCountDownLatch(key);
        await stage.outcome(latch.trySetCount(2, { expire: 2_000 }));
        for (const wait of [20, 0, 20]) assert.equal(await stage.outcome(ask(wait)), false);
        await stage.outcome(end(latch));
        await gone(latch);
        for (const wait of [0, 20, 30_000]) assert.equal(await stage.refusal(ask(wait)), 'LOCK_LATCH_LOST');
        // A client that has never seen it closed finds no latch.
        assert.equal(await stage.outcome(third!.getCountDownLatch(key).await()), true);

        // Another one in its place: that is reported once.
        await stage.outcome(latch.trySetCount(1));
        assert.equal(await stage.refusal(ask(20)), 'LOCK_LATCH_LOST');
        for (const wait of [20, 0]) assert.equal(await stage.outcome(ask(wait)), false);
        await stage.outcome(latch.countDown());
        for (const wait of [0, 20]) assert.equal(await stage.outcome(ask(wait)), true);
      }
    },
  ),

  'a caller that polls waits for the next latch if the last one has opened meanwhile': keeping(async (stage) => {
    const [polling, other] = await stage.clientList(2);
    const key = stage.key();
    const [latch, next] = [polling!.getCountDownLatch(key), other!.getCountDownLatch(key)];
    for (const wait of [20, 0, 20]) {
      await stage.outcome(next.trySetCount(1));
      assert.equal(await stage.outcome(latch.await(wait)), false);
      await stage.outcome(next.countDown());
    }
    assert.equal(await stage.outcome(latch.await(20)), true);
    await stage.outcome(next.trySetCount(1));
    assert.equal(await stage.outcome(latch.await(20)), false);
    await stage.outcome(next.countDown());
    assert.equal(await stage.outcome(latch.await(0)), true);
  }),

  'a client that has set a latch learns that it is gone, and may set it again': keeping(async (stage) => {
    const client = await stage.client();
    const latch = client.getCountDownLatch(stage.key());
    await stage.outcome(latch.trySetCount(1));
    assert.equal(await stage.outcome(latch.delete()), true);
    assert.equal(await stage.refusal(latch.await(20)), 'LOCK_LATCH_LOST');
    assert.equal(await stage.outcome(latch.trySetCount(1)), true);
    assert.equal(await stage.outcome(latch.await(20)), false);
    await stage.outcome(latch.countDown());
    assert.equal(await stage.outcome(latch.await(20)), true);
  }),

  'a latch that is deleted has not opened': keeping(async (stage) => {
    const client = await stage.client();
    const key = stage.key();
    const latch = client.getCountDownLatch(key);
    assert.equal(await stage.outcome(latch.delete()), false);
    await stage.outcome(latch.trySetCount(2));
    const waiting = stage.refusal(latch.await('30s'));
    assert.equal(await stage.outcome(latch.await(30)), false);
    assert.equal(await stage.outcome(latch.delete()), true);
    assert.equal(await stage.outcome(latch.getCount()), 0);
    assert.equal(await stage.outcome(latch.countDown()), 0);
    assert.equal(await waiting, 'LOCK_LATCH_LOST');
    assert.equal(await stage.outcome(latch.delete()), false);
  }),

  'a latch that no longer exists counts as opened only if it reached 0': keeping(async (stage) => {
    const store = await stage.store();
    const latches = latchesOf(store);
    const key = stage.key();
    const [opened, expired, stands] = [idOf(store), idOf(store), idOf(store)];
    const seen = [opened, expired, stands];
    await stage.outcome(latches.setCount({ key, id: opened, count: 1, lifetime: 60_000 }));
    await stage.outcome(latches.countDown(key, idOf(store)));
    await stage.outcome(latches.setCount({ key, id: expired, count: 1, lifetime: 100 }));
    await stage.until('the end of the latch', async () => {
      return (await stage.outcome(latches.count(key, 0, []))).left === 0;
    });
    assert.deepEqual(await stage.outcome(latches.count(key, 0, seen)), { left: 0, latch: '', opened: [opened] });
    await stage.outcome(latches.setCount({ key, id: stands, count: 1, lifetime: 60_000 }));
    assert.deepEqual(await stage.outcome(latches.count(key, 0, seen)), { left: 1, latch: stands, opened: [opened] });
    await stage.outcome(latches.countDown(key, idOf(store)));
  }),
};

import { strict as assert } from 'node:assert';
import type { CaseList } from './stage.js';

/** What a store says of the holders and waiters of a lock. */
export const IDENTITY_CASES: CaseList = {
  'a waiter says since when it waits, whatever the number of its retries': async (stage) => {
    const [holder, waiter] = [await stage.store(), await stage.store()];
    const key = stage.key();
    const [held, request] = [holder.request(key), waiter.request(key, { age: 0 })];
    await stage.outcome(holder.port.acquire(held));
    const since = async (): Promise<number | undefined> =>
      (await stage.outcome(holder.port.inspect(key))).waiters.find(({ id }) => id === request.id)?.since;
    await stage.outcome(waiter.port.acquire(request));
    const first = await since();
    assert.ok(first !== undefined && Number.isInteger(first), `since ${first}`);
    for (const age of [20, 40]) {
      await stage.sleep(20);
      await stage.outcome(waiter.port.acquire({ ...request, age }));
      assert.equal(await since(), first);
    }
    await stage.outcome(waiter.release(key, request.id));
    await stage.outcome(holder.release(key, held.id));
  },

  'inspect names the pattern of a holder and of a waiter of this client': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key, { pattern: 'orders' }));
    const waiting = other.acquire(key, { pattern: 'imports' });
    await stage.untilWaiting(key, 1);
    const [holder] = (await stage.outcome(one.inspect(key)))!.holders;
    assert.deepEqual([holder!.label, holder!.pattern, holder!.client], [one.label, 'orders', one.clientId]);
    const [waiter] = (await stage.outcome(other.inspect(key)))!.waiters;
    assert.deepEqual([waiter!.label, waiter!.pattern, waiter!.client], [other.label, 'imports', other.clientId]);
    await stage.outcome(lock.release());
    await stage.outcome((await stage.outcome(waiting)).release());
  },

  'a store that keeps the records of clients shows them to each other': async (stage) => {
    if ((await stage.store()).port.clients === undefined) return;
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key, { pattern: 'orders' }));
    // The record is written in the background.
    await stage.until('the label of the holder', async () => {
      const [holder] = (await stage.outcome(other.inspect(key)))!.holders;
      return holder!.label === one.label && holder!.pattern === 'orders';
    });
    await stage.outcome(lock.release());
  },
};

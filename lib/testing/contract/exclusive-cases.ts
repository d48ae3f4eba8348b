import { strict as assert } from 'node:assert';
import type { LockHandle } from '../../service/handles/lock-handle.js';
import type { LockHolder, LockTimeoutError } from '../../errors/index.js';
import { AT_ONCE, type CaseList } from './stage.js';

const aborted = (lock: LockHandle): boolean => lock.signal.aborted;

/** Exclusive locks: acquired, re-entered, released, lost. */
export const EXCLUSIVE_CASES: CaseList = {
  'a lock has one holder at a time, and can be acquired again after its release': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    for (let round = 0; round < 3; round++) {
      const lock = await stage.outcome(one.acquire(key));
      assert.equal(lock.isHeld, true);
      assert.deepEqual(await stage.holders(key), [lock.owner]);
      assert.equal(await stage.outcome(() => other.tryAcquire(key)), null);
      assert.equal(await stage.outcome(() => one.tryAcquire(key)), null);
      assert.equal(await stage.outcome(lock.release()), true);
      assert.equal(lock.isHeld, false);
      assert.equal(await stage.outcome(lock.release()), true);
      assert.deepEqual(await stage.holders(key), []);
    }
    const lock = await stage.outcome(() => other.tryAcquire(key));
    assert.deepEqual(await stage.holders(key), [lock?.owner]);
    assert.equal(await stage.outcome(lock!.release()), true);
  },

  're-entry counts by scope and by owner, and only the last release frees the key': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const counts: number[] = [];
    await stage.outcome(
      one.run(key, async (outer) => {
        counts.push(outer.holdCount);
        await one.run(key, (inner) => void counts.push(inner.holdCount));
        counts.push(outer.holdCount);
        assert.equal((await stage.holders(key)).length, 1);
        assert.equal(await other.tryAcquire(key), null);
      }),
    );
    assert.deepEqual(counts, [1, 2, 1]);
    assert.deepEqual(await stage.holders(key), []);

    const first = await stage.outcome(one.acquire(key, { owner: 'me' }));
    const second = await stage.outcome(other.acquire(key, { owner: 'me' }));
    assert.equal((await stage.holders(key)).length, 2);
    await stage.outcome(first.release());
    assert.equal(await stage.outcome(() => one.tryAcquire(key, { owner: 'you' })), null);
    assert.equal(second.isHeld, true);
    await stage.outcome(second.release());
    assert.deepEqual(await stage.holders(key), []);
  },

  'a client that does not hold a lock cannot release it': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const store = await stage.store();
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key));
    assert.equal(await stage.refusal(other.getLock(key).unlock()), 'LOCK_NOT_HELD');
    assert.equal(await stage.outcome(store.release(key, store.request(key).id)), false);
    await stage.outcome(lock.verify());
    assert.deepEqual(await stage.holders(key), [lock.owner]);
    await stage.outcome(lock.release());
  },

  'a release after the end of the lease does not affect the next holder': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const late = await stage.outcome(one.acquire(key, { expire: 200 }));
    const next = await stage.outcome(other.acquire(key));
    assert.equal(late.isHeld, false);
    assert.equal(aborted(late), true);
    assert.equal(await stage.outcome(late.release()), false);
    await stage.outcome(next.verify());
    assert.deepEqual(await stage.holders(key), [next.owner]);
    assert.ok(next.fencingToken > late.fencingToken);
    assert.equal(await stage.outcome(next.release()), true);
  },

  'a fixed lease is not renewed: a waiter is granted the lock when it ends': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const since = stage.now();
    await stage.outcome(one.acquire(key, { expire: 600 }));
    const next = await stage.outcome(other.acquire(key));
    const took = stage.now() - since;
    assert.ok(took >= 595 && took < 600 + AT_ONCE, `after ${took} ms`);
    await stage.outcome(next.release());
  },

  'a renewed lock outlasts its lease many times, and verify confirms it': async (stage) => {
    const one = await stage.client({ renewedLease: 1_200 });
    const other = await stage.client();
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key));
    for (let i = 0; i < 16; i++) {
      await stage.sleep(300);
      assert.equal(lock.isHeld, true);
      assert.deepEqual(await stage.holders(key), [lock.owner]);
    }
    await stage.outcome(lock.verify());
    assert.equal(await stage.outcome(() => other.tryAcquire(key)), null);
    assert.equal(await stage.outcome(lock.release()), true);
  },

  'after maxRenewTimes renewals the lease expires, and its holder is notified first': async (stage) => {
    const one = await stage.client({ renewedLease: 400 });
    const other = await stage.client();
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key, { maxRenewTimes: 2 }));
    const next = await stage.outcome(other.acquire(key));
    assert.equal(aborted(lock), true);
    assert.equal(lock.isHeld, false);
    await stage.outcome(next.release());
  },

  'tryLock waits for its wait time, and waitTimeout: 0 does not wait': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key));
    let since = stage.now();
    assert.equal(await stage.outcome(() => other.getLock(key).tryLock(500)), null);
    const took = stage.now() - since;
    assert.ok(took >= 495 && took < 500 + AT_ONCE, `it took ${took} ms`);
    since = stage.now();
    assert.equal(await stage.refusal(other.acquire(key, { waitTimeout: 0 })), 'LOCK_TIMEOUT');
    assert.ok(stage.now() - since < AT_ONCE);
    await stage.until('an empty queue', async () => (await stage.truth(key)).waiting.length === 0);
    assert.deepEqual(await stage.holders(key), [lock.owner]);
    await stage.outcome(lock.release());
  },

  'forceRelease frees the key, notifies its holder and grants the lock to a waiter': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key));
    const { signal } = lock;
    const waiting = other.acquire(key);
    await stage.untilWaiting(key, 1);
    const since = stage.now();
    assert.equal(await stage.outcome(other.forceRelease(key)), true);
    const next = await stage.outcome(waiting);
    assert.ok(stage.now() - since < AT_ONCE);
    await stage.until('the signal', () => signal.aborted);
    assert.equal(lock.isHeld, false);
    assert.equal(await stage.outcome(lock.release()), false);
    assert.deepEqual(await stage.holders(key), [next.owner]);
    await stage.outcome(next.release());
    assert.equal(await stage.outcome(other.forceRelease(key)), false);
  },

  'remainTimeToLive is the rest of the lease, and -2 for a free key': async (stage) => {
    const client = await stage.client();
    const key = stage.key();
    assert.equal(await stage.outcome(client.getLock(key).remainTimeToLive()), -2);
    const lock = await stage.outcome(client.acquire(key, { expire: '20s' }));
    const left = await stage.outcome(client.getLock(key).remainTimeToLive());
    assert.ok(left > 20_000 - AT_ONCE && left <= 20_000, `${left} ms`);
    await stage.outcome(lock.extend('40s'));
    const [hold] = (await stage.truth(key)).holds;
    assert.ok(hold!.left > 40_000 - AT_ONCE && hold!.left <= 40_000, `${hold!.left} ms`);
    await stage.outcome(lock.release());
    assert.equal(await stage.outcome(client.getLock(key).remainTimeToLive()), -2);
  },

  'fencing tokens grow strictly, across all clients': async (stage) => {
    const clients = await stage.clientList(3);
    const key = stage.key();
    let last = 0;
    for (let i = 0; i < 60; i++) {
      const lock = await stage.outcome(clients[i % 3]!.acquire(key));
      assert.ok(lock.fencingToken > last, `${lock.fencingToken} after ${last}`);
      last = lock.fencingToken;
      await stage.outcome(lock.release());
    }
  },

  'a job with holdAtLeast runs once in that time': async (stage) => {
    const clients = await stage.clientList(3);
    const key = stage.key();
    let runs = 0;
    const job = { waitTimeout: 0, holdAtLeast: 800 };
    for (const client of clients) {
      await stage.outcome(client.run(key, () => void (runs += 1), job).catch(() => undefined));
      await stage.sleep(50);
    }
    assert.equal(runs, 1);
    const info = await stage.outcome(clients[0]!.inspect(key));
    assert.equal(info?.holders[0]?.kept, true);
    assert.equal((await stage.truth(key)).holds.length, 1);
    // A waiter is granted when that time is over.
    await stage.outcome(clients[1]!.run(key, () => void (runs += 1)));
    assert.equal(runs, 2);
  },

  'inspect shows owners, holds, tokens, leases and waiters': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    assert.equal(await stage.outcome(one.inspect(key)), null);
    const first = await stage.outcome(one.acquire(key, { owner: 'me', expire: '20s' }));
    const second = await stage.outcome(one.acquire(key, { owner: 'me', expire: '30s' }));
    const waiting = other.acquire(key, { owner: 'you' });
    await stage.untilWaiting(key, 1);
    const info = await stage.outcome(one.inspect(key));
    assert.equal(info?.owner, 'me');
    assert.equal(info.holds, 2);
    assert.ok(info.fencingToken >= second.fencingToken); // one of several servers may have issued more tokens
    assert.ok(info.ttl > 30_000 - AT_ONCE && info.ttl <= 30_000);
    assert.deepEqual(info.holders.map(({ id }) => id).sort(), await stage.holders(key));
    assert.deepEqual(
      info.holders.map(({ fencingToken }) => fencingToken).sort((a, b) => a - b),
      [first.fencingToken, second.fencingToken],
    );
    assert.deepEqual(
      info.waiters.map(({ owner }) => owner),
      ['you'],
    );
    await stage.outcome(first.release());
    await stage.outcome(second.release());
    await stage.outcome((await stage.outcome(waiting)).release());
    assert.equal(await stage.outcome(one.inspect(key)), null);
  },

  'the error of a call that timed out names the holder': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key, { owner: 'me', expire: '20s' }));
    for (const waitTimeout of [0, 50]) {
      let holder: LockHolder | undefined;
      // A slow backend may not name the holder in time.
      await stage.until('the name of the holder', async () => {
        const call = other.acquire(key, { waitTimeout });
        assert.equal(await stage.refusal(call), 'LOCK_TIMEOUT');
        const error = (await call.catch((thrown: unknown) => thrown)) as LockTimeoutError;
        assert.equal(error.key, key);
        holder = error.holder;
        return holder !== undefined;
      });
      assert.deepEqual([holder!.owner, holder!.client, holder!.fencingToken], ['me', one.clientId, lock.fencingToken]);
      assert.ok(holder!.ttl > 0 && holder!.ttl <= 20_000, `${holder!.ttl} ms`);
    }
    await stage.outcome(lock.release());
  },

  'keys with braces, colons, spaces and any Unicode text are distinct': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const names = [
      'a:b',
      'a b',
      'a:{b}',
      'a:{b}:c',
      'ä',
      'ключ',
      '鍵 🔑',
      'granted 1 2 3 k',
      '100%',
      'a\'b"c',
      '*?[a-z]\\',
      'a{}b',
    ];
    const keys = names.map((name) => stage.key(name));
    const locks: LockHandle[] = [];
    for (const key of keys) {
      const lock = await stage.outcome(one.acquire(key));
      assert.deepEqual(await stage.holders(key), [lock.owner]);
      locks.push(lock);
    }
    const waiting = keys.map((key) => other.acquire(key));
    for (const key of keys) await stage.untilWaiting(key, 1);
    for (const lock of locks) await stage.outcome(lock.release());
    for (const promise of waiting) await stage.outcome((await stage.outcome(promise)).release());
  },
};

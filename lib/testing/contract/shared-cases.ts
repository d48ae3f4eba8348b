import { strict as assert } from 'node:assert';
import type { LockHandle } from '../../service/handles/lock-handle.js';
import { AT_ONCE, LATE_RETRIES, PATIENCE, type Stage, type CaseList } from './stage.js';

/** A store that cannot count permits must refuse them. The case tests only that. */
const counting =
  (play: (stage: Stage) => Promise<void>) =>
  async (stage: Stage): Promise<void> => {
    if ((await stage.store()).port.lacks?.permits === undefined) return play(stage);
    const client = await stage.client();
    await assert.rejects(client.acquire(stage.key(), { permits: 2 }), { code: 'LOCK_CONFIG' });
  };

/** Locks with several holders: readers and permits. */
export const SHARED_CASES: CaseList = {
  'readers share the lock, a writer holds it alone': async (stage) => {
    const clients = await stage.clientList(3);
    const key = stage.key();
    const readers = [];
    for (const client of clients) readers.push(await stage.outcome(client.acquire(key, { kind: 'read' })));
    assert.equal((await stage.holders(key)).length, 3);
    assert.equal(await stage.outcome(() => clients[0]!.tryAcquire(key)), null);
    const writing = clients[0]!.acquire(key);
    await stage.untilWaiting(key, 1);
    for (const reader of readers) await stage.outcome(reader.release());
    const writer = await stage.outcome(writing);
    assert.deepEqual(await stage.holders(key), [writer.owner]);
    assert.equal(await stage.outcome(() => clients[1]!.tryAcquire(key, { kind: 'read' })), null);
    await stage.outcome(writer.release());
  },

  'a forced release of some holds ends no other hold': async (stage) => {
    const clients = await stage.clientList(4);
    const key = stage.key();
    const readers: LockHandle[] = [];
    for (const client of clients) readers.push(await stage.outcome(client.acquire(key, { kind: 'read' })));
    const [first, ended, last, fourth] = readers as [LockHandle, LockHandle, LockHandle, LockHandle];
    const end = (hold: string | string[]): Promise<boolean> => stage.outcome(clients[0]!.forceRelease(key, { hold }));
    assert.equal(await end(ended.owner), true);
    await stage.until('the end of the hold', () => ended.signal.aborted);
    assert.deepEqual(await stage.holders(key), [first.owner, last.owner, fourth.owner].sort());
    for (const hold of [ended.owner, `${ended.owner}0`]) assert.equal(await end(hold), false);
    assert.equal(await end([first.owner, ended.owner, fourth.owner]), true);
    assert.deepEqual(await stage.holders(key), [last.owner]);
    await stage.outcome(last.verify());
    const writing = clients[1]!.acquire(key);
    await stage.untilWaiting(key, 1);
    assert.equal(await end(last.owner), true);
    await stage.outcome((await stage.outcome(writing)).release());
  },

  'the list names each key that is held, with the holders of all clients': async (stage) => {
    const clients = await stage.clientList(2);
    const prefix = stage.key();
    if ((await stage.store()).port.list === undefined) {
      await assert.rejects(clients[0]!.list().next(), { code: 'LOCK_CONFIG' });
      return;
    }
    const keys = ['a', 'b', 'b*', 'c'].map((name) => `${prefix}:${name}`);
    const handles: LockHandle[] = [];
    for (const client of clients) {
      for (const key of keys) handles.push(await stage.outcome(client.acquire(key, { kind: 'read' })));
    }
    const listed = async (match: string): Promise<string[]> => {
      const found: string[] = [];
      for await (const { key, holders } of clients[0]!.list({ match })) {
        assert.deepEqual(
          holders.map(({ id }) => id).sort(),
          handles
            .filter((handle) => handle.key === key)
            .map(({ owner }) => owner)
            .sort(),
        );
        found.push(key);
      }
      return found.sort();
    };
    assert.deepEqual(await stage.outcome(listed(`${prefix}*`)), keys);
    assert.deepEqual(await stage.outcome(listed(`${prefix}:b*`)), keys.slice(1, 3));
    assert.deepEqual(await stage.outcome(listed(`${prefix}:c`)), keys.slice(3));
    await stage.outcome(Promise.all(handles.splice(0).map((handle) => handle.release())));
    assert.deepEqual(await stage.outcome(listed(`${prefix}*`)), []);
  },

  'tryLock and tryAcquire take options in place of their two times': async (stage) => {
    const client = await stage.client();
    const key = stage.key();
    const lock = client.getLock(key);
    const handle = (await stage.outcome(() => lock.tryLock({ renewedLease: '2s' })))!;
    assert.ok(handle.remainingTime() <= 2_000);
    const other = client.getLock(key);
    assert.equal(await stage.outcome(() => other.tryLock({ renewedLease: '2s' })), null);
    assert.equal(await stage.outcome(() => other.tryLock({ waitTimeout: 30 })), null);
    const waiting = other.tryLock({ waitTimeout: '30s', expire: '3s' });
    await stage.untilWaiting(key, 1);
    await stage.outcome(lock.unlock());
    const next = (await stage.outcome(waiting))!;
    assert.ok(next.remainingTime() <= 3_000);
    await stage.outcome(other.unlock());
    for (const wrong of [{ lease: 1 }, { expire: '1s', renewedLease: '1s' }]) {
      assert.equal(await stage.refusal(lock.tryLock(wrong as object)), 'LOCK_CONFIG');
    }
    assert.equal(await stage.refusal(lock.tryLock({ waitTimeout: 0 }, '1s')), 'LOCK_CONFIG');
    if ((await stage.store()).port.lacks?.permits !== undefined) return;
    const semaphore = client.getSemaphore(stage.key('s'), { permits: 2 });
    const permits = (await stage.outcome(() => semaphore.tryAcquire(2, { renewedLease: '2s' })))!;
    assert.ok(permits.remainingTime() <= 2_000);
    assert.equal(await stage.outcome(() => semaphore.tryAcquire(1, { waitTimeout: 30 })), null);
    assert.equal(await stage.refusal(semaphore.tryAcquire(1, { lease: 1 } as object)), 'LOCK_CONFIG');
    await stage.outcome(semaphore.release(permits));
  },

  'readers that arrive after a waiting writer queue behind it': async (stage) => {
    const clients = await stage.clientList(3);
    const key = stage.key();
    const reader = await stage.outcome(clients[0]!.acquire(key, { kind: 'read' }));
    const order: string[] = [];
    const writing = clients[1]!.run(key, () => void order.push('writer'));
    await stage.untilWaiting(key, 1);
    assert.equal(await stage.outcome(() => clients[2]!.tryAcquire(key, { kind: 'read' })), null);
    const reading = clients[2]!.run(key, () => void order.push('reader'), { kind: 'read' });
    await stage.untilWaiting(key, 2);
    await stage.outcome(reader.release());
    await stage.outcome(Promise.all([writing, reading]));
    assert.deepEqual(order, ['writer', 'reader']);
  },

  'twenty waiting readers are granted together': async (stage) => {
    const clients = await stage.clientList(4, LATE_RETRIES);
    const key = stage.key();
    const writer = await stage.outcome(clients[0]!.acquire(key));
    const reading = Array.from({ length: 20 }, (_, i) => clients[i % 4]!.acquire(key, { kind: 'read', fair: true }));
    await stage.untilWaiting(key, 20);
    const since = stage.now();
    await stage.outcome(writer.release());
    const readers = await stage.outcome(Promise.all(reading));
    assert.ok(stage.now() - since < PATIENCE, 'some readers were not granted by a message');
    assert.equal((await stage.holders(key)).length, 20);
    await stage.outcome(Promise.all(readers.map((reader) => reader.release())));
  },

  'a writer may also read and keep reading; a reader that requests the exclusive lock is refused': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const writer = await stage.outcome(one.acquire(key, { owner: 'me' }));
    const reader = await stage.outcome(one.acquire(key, { owner: 'me', kind: 'read' }));
    await stage.outcome(writer.release());
    assert.deepEqual((await stage.holders(key)).length, 1);
    const beside = await stage.outcome(other.acquire(key, { kind: 'read' }));
    assert.equal(await stage.refusal(one.acquire(key, { owner: 'me' })), 'LOCK_CONFIG');
    assert.equal(reader.isHeld, true);
    await stage.outcome(reader.release());
    await stage.outcome(beside.release());
  },

  'each reader has its own lease, and a crashed reader blocks a writer no longer than that': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const dying = await stage.store();
    const key = stage.key();
    const since = stage.now();
    const request = dying.request(key, { mode: { kind: 'read' }, lease: 600 });
    assert.equal((await stage.outcome(dying.port.acquire(request))).outcome, 'held');
    const reader = await stage.outcome(one.acquire(key, { kind: 'read', expire: '20s' }));
    await dying.port.close();
    const writing = other.acquire(key);
    await stage.untilWaiting(key, 1);
    await stage.outcome(reader.release());
    const writer = await stage.outcome(writing);
    const took = stage.now() - since;
    assert.ok(took >= 595 && took < 600 + AT_ONCE, `after ${took} ms`);
    await stage.outcome(writer.release());
  },

  'as many requests as permits are granted, and the next one waits': counting(async (stage) => {
    const clients = await stage.clientList(2);
    const key = stage.key();
    const permit = { permits: 3 };
    const held = [];
    for (let i = 0; i < 3; i++) held.push(await stage.outcome(clients[i % 2]!.acquire(key, permit)));
    assert.equal((await stage.holders(key)).length, 3);
    assert.equal(await stage.outcome(() => clients[0]!.tryAcquire(key, permit)), null);
    const waiting = clients[1]!.acquire(key, permit);
    await stage.untilWaiting(key, 1);
    await stage.outcome(held[0]!.release());
    held.push(await stage.outcome(waiting));
    assert.equal((await stage.holders(key)).length, 3);
    for (const handle of held.slice(1)) assert.equal(await stage.outcome(handle.release()), true);
  }),

  'permits of a crashed holder return, and a permit that is not held cannot be released': counting(async (stage) => {
    const client = await stage.client();
    const dying = await stage.store();
    const key = stage.key();
    const mode = { kind: 'permits', units: 2, limit: 2 } as const;
    const since = stage.now();
    assert.equal((await stage.outcome(dying.port.acquire(dying.request(key, { mode, lease: 500 })))).outcome, 'held');
    assert.equal(await stage.outcome(dying.release(key, dying.request(key).id)), false);
    await dying.port.close();
    const permit = await stage.outcome(client.acquire(key, { permits: 2 }));
    const took = stage.now() - since;
    assert.ok(took >= 495 && took < 500 + AT_ONCE, `after ${took} ms`);
    await stage.outcome(permit.release());
  }),

  'setPermits applies to all clients, and grants the waiters that fit now': counting(async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const key = stage.key();
    const semaphore = one.getSemaphore(key, { permits: 1 });
    const first = await stage.outcome(semaphore.acquire());
    const waiting = other.getSemaphore(key, { permits: 1 }).acquire();
    await stage.untilWaiting(key, 1);
    await stage.outcome(semaphore.setPermits(2));
    const second = await stage.outcome(waiting);
    assert.equal((await stage.holders(key)).length, 2);
    assert.equal(await stage.outcome(() => other.getSemaphore(key, { permits: 5 }).tryAcquire()), null);
    await stage.outcome(first.release());
    await stage.outcome(second.release());
  }),

  'a request for more permits than exist is refused, and does not block the waiters behind it': counting(
    async (stage) => {
      const [one, other] = await stage.clientList(2, LATE_RETRIES);
      const key = stage.key();
      const semaphores = [one!, other!].map((client) => client.getSemaphore(key, { permits: 3 }));
      const held = await stage.outcome(semaphores[0]!.acquire());
      const large = stage.refusal(semaphores[1]!.acquire(3));
      await stage.untilWaiting(key, 1);
      const small = semaphores[0]!.acquire();
      await stage.untilWaiting(key, 2);
      const since = stage.now();
      await stage.outcome(semaphores[0]!.setPermits(2));
      const second = await stage.outcome(small);
      assert.ok(stage.now() - since < PATIENCE, 'the request that cannot fit blocked the queue');
      assert.equal(await large, 'LOCK_CONFIG');
      assert.equal((await stage.holders(key)).length, 2);
      assert.equal(await stage.refusal(semaphores[1]!.acquire(3)), 'LOCK_CONFIG');
      assert.equal(await stage.refusal(semaphores[1]!.tryAcquire(3)), 'LOCK_CONFIG');
      assert.equal(await stage.outcome(() => semaphores[1]!.tryAcquire(2)), null);
      assert.deepEqual((await stage.truth(key)).waiting, []);
      await stage.outcome(semaphores[0]!.setPermits(5));
      await stage.outcome((await stage.outcome(semaphores[1]!.acquire(3))).release());
      await stage.outcome(held.release());
      await stage.outcome(second.release());
    },
  ),

  'the number that setPermits has set decides, not the number that the object was made with': counting(
    async (stage) => {
      const [one, other] = [await stage.client(), await stage.client()];
      const key = stage.key();
      const semaphore = one.getSemaphore(key, { permits: 3 });
      assert.equal(await stage.refusal(semaphore.acquire(4)), 'LOCK_CONFIG');
      await stage.outcome(semaphore.setPermits(10));
      await stage.outcome((await stage.outcome(semaphore.acquire(4))).release());
      await stage.outcome(semaphore.setPermits(0));
      const waiting = other.getSemaphore(key, { permits: 3 }).acquire(4);
      await stage.untilWaiting(key, 1);
      await stage.outcome(semaphore.setPermits(5));
      const held = await stage.outcome(waiting);
      assert.equal(await stage.outcome(() => semaphore.tryAcquire(2)), null);
      assert.equal(await stage.refusal(semaphore.acquire(6)), 'LOCK_CONFIG');
      await stage.outcome(held.release());
    },
  ),

  'setPermits(0) pauses: waiters stay in the queue, and are granted when there are permits again': counting(
    async (stage) => {
      const [one, other] = [await stage.client(), await stage.client()];
      const key = stage.key();
      const semaphores = [one, other].map((client) => client.getSemaphore(key, { permits: 4 }));
      await stage.outcome(semaphores[0]!.setPermits(0));
      const waiting = [semaphores[0]!.acquire(2), semaphores[1]!.acquire(1)];
      await stage.untilWaiting(key, 2);
      const large = stage.refusal(semaphores[1]!.acquire(4));
      await stage.untilWaiting(key, 3);
      assert.equal(await stage.outcome(() => semaphores[0]!.tryAcquire()), null);
      assert.deepEqual(await stage.holders(key), []);
      await stage.outcome(semaphores[1]!.setPermits(3));
      const held = await stage.outcome(Promise.all(waiting));
      assert.equal(await large, 'LOCK_CONFIG');
      for (const permit of held) assert.equal(await stage.outcome(permit.release()), true);
    },
  ),
};

import { strict as assert } from 'node:assert';
import type { LockHandle } from '../../service/handles/lock-handle.js';
import { AT_ONCE, type CaseList, type Stage } from './stage.js';
import type { ContractClientOptions } from './harness.js';

/** Waiting: no waiter is forgotten or overtaken, and exclusive holders never overlap. */
export const WAITING_CASES: CaseList = {
  '8 clients with several waiters each lose no update, and every waiter is granted the lock': async (stage) => {
    const [CLIENTS, WAITERS, TIMES] = [8, 4, 2];
    const clients = await stage.clientList(CLIENTS);
    const key = stage.key();
    let counter = 0;
    let inside = 0;
    const tokens: number[] = [];
    const work = clients.flatMap((client) =>
      Array.from({ length: WAITERS }, async () => {
        for (let i = 0; i < TIMES; i++) {
          const section = async (lock: LockHandle): Promise<void> => {
            inside += 1;
            assert.equal(inside, 1);
            tokens.push(lock.fencingToken);
            const seen = counter;
            for (let turn = 0; turn < 20; turn++) await Promise.resolve();
            counter = seen + 1;
            inside -= 1;
          };
          await client.run(key, section, { waitTimeout: '25s' });
        }
      }),
    );
    await stage.outcome(Promise.all(work));
    assert.equal(counter, CLIENTS * WAITERS * TIMES);
    assert.deepEqual(
      tokens,
      [...new Set(tokens)].sort((a, b) => a - b),
    );
  },

  'fair waiters are granted the lock in order of arrival across clients': async (stage) => {
    const clients = await stage.clientList(3);
    const key = stage.key();
    const lock = await stage.outcome(clients[0]!.acquire(key));
    const served: number[] = [];
    const waiting: Array<Promise<void>> = [];
    for (let i = 0; i < 18; i++) {
      const options = { fair: true, waitTimeout: '25s' } as const;
      waiting.push(clients[(i * 2) % 3]!.run(key, () => void served.push(i), options));
      await stage.untilWaiting(key, i + 1);
    }
    await stage.outcome(lock.release());
    await stage.outcome(Promise.all(waiting));
    assert.deepEqual(
      served,
      [...served].sort((a, b) => a - b),
    );
    assert.equal(served.length, 18);
  },

  'no client is granted the lock twice while another one waits for its first grant': async (stage) => {
    const served = await serveTwoClients(stage, { localHandoffs: 1 });
    assert.deepEqual(served, ['other', 'one', 'other', 'one', 'other', 'one']);
  },

  'localHandoffs limits the batch of one client before another client is granted the lock': async (stage) => {
    const served = await serveTwoClients(stage, { localHandoffs: 2, localHandoffTime: '25s' });
    // The holder was the first of its batch.
    assert.deepEqual(served, ['one', 'other', 'other', 'one', 'one', 'other']);
  },

  'a fair request ends the batch of another client': async (stage) => {
    const [one, other] = [
      await stage.client({ localHandoffTime: '25s' }),
      await stage.client({ localHandoffTime: '25s' }),
    ];
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key));
    const served: string[] = [];
    const wait = (client: typeof one, name: string, fair = false): Promise<void> =>
      client.run(key, () => void served.push(name), { waitTimeout: '25s', fair });
    const waiting = [wait(one, 'late'), wait(one, 'late')];
    waiting.push(wait(other, 'fair', true));
    await stage.untilWaiting(key, 1);
    // The message follows the reply of the store.
    await stage.sleep(100);
    await stage.outcome(lock.release());
    await stage.outcome(Promise.all(waiting));
    assert.deepEqual(served, ['fair', 'late', 'late']);
  },

  'an aborted or timed-out wait leaves nothing behind, and does not affect later waiters': async (stage) => {
    const clients = await stage.clientList(4);
    const key = stage.key();
    const lock = await stage.outcome(clients[0]!.acquire(key));
    const abort = new AbortController();
    const reason = 'enough';
    const first = clients[1]!.acquire(key, { signal: abort.signal });
    await stage.untilWaiting(key, 1);
    const second = clients[2]!.acquire(key, { waitTimeout: 300 });
    const refused = stage.refusal(second);
    await stage.untilWaiting(key, 2);
    const third = clients[3]!.acquire(key);
    await stage.untilWaiting(key, 3);
    abort.abort(reason);
    assert.equal(await stage.refusal(first), reason);
    assert.equal(await stage.outcome(refused), 'LOCK_TIMEOUT');
    await stage.untilWaiting(key, 1);
    const since = stage.now();
    await stage.outcome(lock.release());
    const next = await stage.outcome(third);
    assert.ok(stage.now() - since < AT_ONCE);
    await stage.outcome(next.release());
  },

  'a grant to a waiter that gives up at the same moment passes to the next waiter': async (stage) => {
    const clients = await stage.clientList(3);
    const key = stage.key();
    for (let turns = 0; turns < 30; turns += 3) {
      const lock = await stage.outcome(clients[0]!.acquire(key));
      const abort = new AbortController();
      const first = clients[1]!.acquire(key, { signal: abort.signal }).then(
        (handle) => handle.release(),
        () => undefined,
      );
      await stage.untilWaiting(key, 1);
      const second = clients[2]!.acquire(key);
      await stage.untilWaiting(key, 2);
      const released = lock.release();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      abort.abort();
      const since = stage.now();
      const next = await stage.outcome(second);
      assert.ok(stage.now() - since < AT_ONCE, 'the grant was stuck');
      await stage.outcome(Promise.all([released, first]));
      await stage.outcome(next.release());
    }
  },

  'a client that crashes while waiting is skipped at once': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const dying = await stage.store();
    const key = stage.key();
    const lock = await stage.outcome(one.acquire(key));
    const request = dying.request(key, { period: 1_000, patience: 2_000 });
    assert.equal((await stage.outcome(dying.port.acquire(request))).outcome, 'queued');
    const waiting = other.acquire(key);
    await stage.untilWaiting(key, 2);
    await dying.port.close();
    // Its connection is closed. There is no event for the moment at which the backend has noticed.
    await stage.sleep(200);
    const since = stage.now();
    await stage.outcome(lock.release());
    const next = await stage.outcome(waiting);
    assert.ok(stage.now() - since < stage.absenceNoticedAfter + AT_ONCE);
    await stage.outcome(next.release());
    await stage.sleep(2_000);
    const after = await stage.outcome(one.acquire(key));
    await stage.outcome(after.release());
  },

  'the lock of a crashed client becomes free within its lease': async (stage) => {
    const other = await stage.client();
    const dying = await stage.store();
    const key = stage.key();
    const since = stage.now();
    assert.equal((await stage.outcome(dying.port.acquire(dying.request(key, { lease: 500 })))).outcome, 'held');
    await dying.port.close();
    const next = await stage.outcome(other.acquire(key));
    const took = stage.now() - since;
    assert.ok(took >= 495 && took < 500 + AT_ONCE, `after ${took} ms`);
    await stage.outcome(next.release());
  },

  'several keys are acquired all or none': async (stage) => {
    const [one, other] = [await stage.client(), await stage.client()];
    const keys = [stage.key('a'), stage.key('b'), stage.key('c')];
    const held = await stage.outcome(one.acquire(keys[1]!));
    assert.equal(await stage.outcome(() => other.tryAcquire(keys)), null);
    assert.equal(await stage.refusal(other.acquire(keys, { waitTimeout: 200 })), 'LOCK_TIMEOUT');
    for (const key of [keys[0]!, keys[2]!]) {
      await stage.until('nothing held', async () => (await stage.holders(key)).length === 0);
    }
    const waiting = other.acquire(keys);
    await stage.untilWaiting(keys[1]!, 1);
    await stage.outcome(held.release());
    const all = await stage.outcome(waiting);
    for (const key of keys) {
      assert.equal((await stage.holders(key)).length, 1);
      assert.equal(await stage.outcome(() => one.tryAcquire(key)), null);
      assert.ok(all.fencingTokens.get(key)! > 0);
    }
    await stage.outcome(all.release());
  },

  'requests for the same keys in opposite order never deadlock': async (stage) => {
    const clients = await stage.clientList(4);
    const [a, b] = [stage.key('a'), stage.key('b')];
    let inside = 0;
    const work = clients.flatMap((client, i) =>
      Array.from({ length: 5 }, async () => {
        const section = async (): Promise<void> => {
          inside += 1;
          assert.equal(inside, 1);
          for (let turn = 0; turn < 10; turn++) await Promise.resolve();
          inside -= 1;
        };
        await client.run(i % 2 === 0 ? [a, b] : [b, a], section, { waitTimeout: '25s' });
      }),
    );
    await stage.outcome(Promise.all(work));
  },
};

/**
 * Three waiters of each of two clients, behind a hold of the first. Returns the clients in the order of their grants.
 */
async function serveTwoClients(stage: Stage, options: ContractClientOptions): Promise<string[]> {
  const [one, other] = [await stage.client(options), await stage.client(options)];
  const key = stage.key();
  const lock = await stage.outcome(one.acquire(key));
  const served: string[] = [];
  const wait = (client: typeof one, name: string): Promise<void> =>
    client.run(key, () => void served.push(name), { waitTimeout: '25s' });
  const waiting = [wait(one, 'one'), wait(one, 'one'), wait(one, 'one')];
  waiting.push(wait(other, 'other'), wait(other, 'other'), wait(other, 'other'));
  await stage.untilWaiting(key, 1);
  await stage.outcome(lock.release());
  await stage.outcome(Promise.all(waiting));
  return served;
}

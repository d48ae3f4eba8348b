import { isLockTimeoutError } from 'nestjs-redis-locks/client';
import type { LockTimeoutError } from 'nestjs-redis-locks';
import { AT_ONCE, LockBench, timed, eventually, redisKey } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('a wait with a limit', () => {
  it('of 0 is a single try and a single command, and an error takes a second one to name the holder', async () => {
    const [holder, other] = await bench.pair();
    await holder.acquire('a');
    await other.tryAcquire('b');
    await bench.redis.resetCommandStats();
    expect(await other.getLock('a').tryLock()).toBeNull();
    expect(await other.tryAcquire('a')).toBeNull();
    const { error, ran } = await timed(() => other.acquire('a', { waitTimeout: 0 }));
    expect(isLockTimeoutError(error)).toBe(true);
    expect(ran).toBeLessThan(AT_ONCE);
    expect(await bench.calls()).toBe(3 + 1);
    expect(await bench.waiters('a')).toEqual([]);
  });

  it('uses the default of its service, and none for tryAcquire', async () => {
    const [holder, other] = [await bench.service(), await bench.service({ defaults: { waitTimeout: 80 } })];
    await holder.acquire('a');
    const { error, took, ran } = await timed(() => other.acquire('a'));
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'a' });
    expect(took).toBeGreaterThanOrEqual(80);
    expect(ran).toBeLessThan(80 + AT_ONCE);
    await bench.redis.resetCommandStats();
    expect(await other.tryAcquire('a')).toBeNull();
    expect(await bench.calls()).toBe(1);
  });
});

describe('an aborted wait', () => {
  const reason = new Error('the client has gone');

  it('does not begin if its signal has aborted already', async () => {
    const service = await bench.service();
    await bench.redis.resetCommandStats();
    await expect(service.acquire('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(service.tryAcquire('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const task = () => 'never';
    await expect(service.run('a', task, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect(await bench.calls()).toBe(0);
  });

  it('is not ended by a signal that aborts once the lock is held', async () => {
    const service = await bench.service();
    const controller = new AbortController();
    const lock = await service.acquire('a', { signal: controller.signal });
    controller.abort();
    await lock.verify();
    expect(lock.signal.aborted).toBe(false);
    expect(await lock.release()).toBe(true);
  });
});

/** The error of a call that times out. */
const errorOf = (call: Promise<unknown>): Promise<LockTimeoutError> =>
  call.then(
    () => Promise.reject(new Error('the call did not fail')),
    (error: LockTimeoutError) => error,
  );

/** The error of a call that names the holder. On a busy machine Redis may not have named it in time, so the call is repeated. */
async function reported(call: () => Promise<unknown>): Promise<LockTimeoutError> {
  let error!: LockTimeoutError;
  await eventually(async () => (error = await errorOf(call())).holder !== undefined, {
    what: 'the name of the holder',
  });
  return error;
}

describe('the error of a call that timed out', () => {
  it('names the holder as inspect does, in its fields and in its message', async () => {
    const [holder, other] = await bench.pair();
    await holder.acquire('a', { owner: 'import', expire: '20s', pattern: 'imports' });
    const label = await eventually(async () => (await other.inspect('a'))!.holders[0]!.label);
    const error = await reported(() => other.acquire('a', { waitTimeout: 50 }));
    const [known] = (await other.inspect('a'))!.holders;
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'a', method: undefined });
    expect(error.holder).toEqual({ ...known, ttl: expect.any(Number) });
    expect(error.message).toBe(
      "'a' was held by other callers for the whole waitTimeout of 50 ms. Holder: owner 'import', " +
        `client ${label} (${holder.clientId}) in imports, since ${known!.since.toISOString()}, its lease ends in ${error.holder!.ttl} ms unless renewed.`,
    );
  });

  it('names the cycle if the holder waits for a lock of the call, without a further round trip', async () => {
    const [one, other] = await bench.pair();
    const error = await one.run(
      'a',
      () =>
        other.run('b', async () => {
          const waiting = other.acquire('a', { waitTimeout: '1m' });
          await bench.untilWaiting('a', 1);
          const found = await reported(() => one.acquire('b', { waitTimeout: 50 }));
          await one.forceRelease('a');
          await (await waiting).release();
          return found;
        }),
      { onLost: 'ignore' },
    );
    expect(error.message).toMatch(
      / unless renewed\. A deadlock: the client of the holder waits for 'a', which this call's own scope holds\. Acquire both in one step, acquire\(\['a', 'b'\]\), or in the same order in all calls\.$/,
    );
  });

  it('is one line, and does not reach a terminal, whatever another program has written as the owner', async () => {
    const [holder, other] = await bench.pair();
    await holder.acquire('a', { owner: 'import', expire: '20s' });
    const { admin } = bench.redis;
    const [[id, hold] = []] = Object.entries(await admin.hgetall(redisKey('state', 'a')));
    await admin.hset(redisKey('state', 'a'), id!, hold!.replace('import', 'im\u001b[31mport\nb'));
    const error = await reported(() => other.acquire('a', { waitTimeout: 50 }));
    expect(error.holder!.owner).toBe('im\u001b[31mport\nb');
    expect(error.message).toContain("owner 'im\\u001b[31mport\\u000ab', ");
  });

  it('names one of several holders, and how many others there are', async () => {
    const [holder, other] = await bench.pair();
    for (let i = 0; i < 3; i++) await holder.acquire('a', { kind: 'read', fair: true });
    const error = await reported(() => other.acquire('a', { waitTimeout: 0 }));
    expect(error.holder).toMatchObject({ kind: 'read', client: holder.clientId });
    expect(error.message).toContain("'a' is held by another caller. Holder: client ");
    expect(error.message).toMatch(/unless renewed, and 2 more\.$/);
  });

  it('reads only some of many holders', async () => {
    const [holder, other] = await bench.pair();
    await Promise.all(Array.from({ length: 900 }, () => holder.acquire('a', { kind: 'read', fair: true })));
    let ran: number | undefined;
    const error = await reported(async () => {
      await bench.redis.admin.config('RESETSTAT');
      await other.acquire('a', { waitTimeout: 0 }).finally(async () => (ran = await bench.calls()));
    });
    expect(error.message).toMatch(/unless renewed, and over \d+ more\.$/);
    // The renewals of the other client, the request, and one page of holders.
    expect(ran).toBeLessThan(5);
  });

  it('says that a holder has released the key, and holdAtLeast keeps it', async () => {
    const [holder, other] = await bench.pair();
    await holder.run('a', () => undefined, { holdAtLeast: '20s' });
    const error = await reported(() => other.run('a', () => undefined, { waitTimeout: 0 }));
    expect(error.holder).toMatchObject({ kept: true });
    expect(error.message).toContain('released, but kept by holdAtLeast for ');
    await holder.forceRelease('a');
  });

  it('names the key of a set that was not free, and its holder', async () => {
    const [holder, other] = await bench.pair();
    await holder.acquire('b', { owner: 'me' });
    const error = await reported(() => other.acquire(['a', 'b'], { waitTimeout: 50 }));
    expect(error).toMatchObject({ key: 'b', holder: { owner: 'me' } });
  });
});

describe('the request for the holder', () => {
  it('is sent once for all calls that end together', async () => {
    const [holder, other] = await bench.pair();
    await holder.acquire('a', { owner: 'me' });
    const proxied = await bench.proxy();
    const waiting = await bench.service({ connection: proxied.url });
    let requests = 0;
    await errorOf(other.acquire('a', { waitTimeout: 0 })); // Redis knows both scripts now
    const calls = Array.from({ length: 50 }, () => errorOf(waiting.acquire('a', { waitTimeout: 400 })));
    await bench.untilWaiting('a', 1);
    proxied.onCommand(({ name }) => {
      if (name === 'evalsha') requests += 1;
    });
    // The request is under way while the other calls end.
    proxied.delay({ request: 40, reply: 40 });
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'LOCK_TIMEOUT' });
    // Beside the requests: the last waiter leaves the queue.
    expect(requests).toBeGreaterThan(0);
    expect(requests).toBeLessThan(25);
  });

  it('does not keep the caller for longer than the answer to a lock may take', async () => {
    const proxied = await bench.proxy();
    const [holder, other] = [await bench.service(), await bench.service({ connection: proxied.url })];
    await holder.acquire('a');
    const call = errorOf(other.acquire('a', { waitTimeout: 500 }));
    await bench.untilWaiting('a', 1);
    proxied.dropRequests();
    const { value, ran } = await timed(() => call);
    expect(value).toMatchObject({ code: 'LOCK_TIMEOUT', holder: undefined });
    expect(ran).toBeLessThan(500 + 300);
    proxied.heal();
  });

  it('ends with the signal of the caller', async () => {
    const proxied = await bench.proxy();
    const [holder, other] = [await bench.service(), await bench.service({ connection: proxied.url })];
    await holder.acquire('a');
    const gone = new AbortController();
    proxied.onCommand(({ name, args }) => {
      // The request has three arguments after its seven keys: the pages of holds and waiters, and how many waiters to name.
      if (name !== 'evalsha' || args.length !== 2 + 7 + 3) return;
      proxied.dropReplies();
      gone.abort();
    });
    const error = await errorOf(other.acquire('a', { waitTimeout: 300, signal: gone.signal }));
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', holder: undefined });
    expect(gone.signal.aborted).toBe(true);
    proxied.heal();
  });
});

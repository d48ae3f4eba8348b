import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import { AT_ONCE, LockBench, timed, eventually, redisKey } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const READ = { kind: 'read' } as const;
const WRITE = { kind: 'write' } as const;

describe('a read-write lock', () => {
  it('admits an owner to the exclusive lock although its expired hold is one of very many', async () => {
    const service = await bench.service();
    const reader = await service.acquire('a', READ);
    const owners = Array.from({ length: 130 }, (_, i) => `owner-${i}`);
    await Promise.all(owners.map((owner) => service.acquire('a', { ...READ, owner, expire: 2_000 })));
    await eventually(async () => (await service.inspect('a'))?.holds === 1, { within: 10_000 });
    for (const owner of owners.slice(-3)) expect(await service.tryAcquire('a', { owner })).toBeNull();
    await reader.release();
    expect(await (await service.acquire('a', { owner: owners.at(-1)! })).release()).toBe(true);
  });

  it('changes nothing of many holds with a layout that it does not know', async () => {
    const service = await bench.service();
    for (let i = 0; i < 8; i++) await service.acquire('a', { ...READ, owner: `owner-${i}` });
    await bench.redis.admin.hset(redisKey('state', 'a'), 'layout', '3');
    const ends = await bench.redis.admin.zrange(redisKey('ends', 'a'), 0, '-1', 'WITHSCORES');
    await expect(service.acquire('a', { ...READ, waitTimeout: 0 })).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(await bench.redis.admin.zrange(redisKey('ends', 'a'), 0, '-1', 'WITHSCORES')).toEqual(ends);
    await bench.redis.admin.del(redisKey('state', 'a'));
  });
});

describe('downgrade and upgrade', () => {
  it('in run: a writer reads, releases the write lock, and keeps reading with others', async () => {
    const [one, other] = await bench.pair();
    const order: string[] = [];
    let reading!: LockHandle;
    const waiting = { reader: undefined as Promise<LockHandle> | undefined };
    await one.run(
      'a',
      async (writer) => {
        reading = await one.acquire('a', READ);
        expect(reading.owner).toBe(writer.owner);
        waiting.reader = other.acquire('a', READ).then((handle) => {
          order.push('reader');
          return handle;
        });
        await bench.untilWaiting('a', 1);
        expect(await other.tryAcquire('a', READ)).toBeNull();
        order.push('downgraded');
      },
      WRITE,
    );
    // The writer has ended, it still holds the read lock, and the other reader is in beside it.
    await (await waiting.reader!).release();
    expect(order).toEqual(['downgraded', 'reader']);
    await reading.verify();
    expect(await other.tryAcquire('a', WRITE)).toBeNull();
    await reading.release();
    expect(await other.tryAcquire('a', WRITE)).not.toBeNull();
  });

  it('leave no place in the queue if an upgrade is noticed while it waits', async () => {
    const [holder, service, third] = await bench.serviceList(3, { renewedLease: 2_000, grantTimeout: 600 });
    const lock = await holder.acquire('a', WRITE);
    // Both of one owner, which holds nothing yet: first its reader, then its writer.
    const reading = service.acquire('a', { ...READ, owner: 'me', waitTimeout: '5s' });
    await bench.untilWaiting('a', 1);
    const writing = timed(() => service.acquire('a', { ...WRITE, owner: 'me', waitTimeout: '5s' }));
    await bench.untilWaiting('a', 2);
    await lock.release();
    const reader = await reading;
    // It would wait for its own reader: told so when it asks next, and gone from the queue then.
    expect((await writing).error).toMatchObject({ code: 'LOCK_CONFIG' });
    expect(await bench.waiters('a')).toEqual([]);
    const beside = await timed(() => third.acquire('a', READ));
    expect(beside.ran).toBeLessThan(AT_ONCE);
    await reader.release();
  });

  it('let read and write re-enter by scope separately', async () => {
    const service = await bench.service();
    await service.run(
      'a',
      async (outer) => {
        await bench.redis.resetCommandStats();
        const inner = await service.acquire('a', READ);
        expect(inner.fencingToken).toBe(outer.fencingToken);
        expect(inner.holdCount).toBe(2);
        await inner.release();
        expect(await bench.calls()).toBe(0);
      },
      READ,
    );
    await service.run(
      'b',
      async (outer) => {
        const again = await service.acquire('b');
        expect(again.fencingToken).toBe(outer.fencingToken);
        await again.release();
        outer.assertHeld();
      },
      WRITE,
    );
    await bench.untilNothingIsLeft();
  });

  it('let a reader pass a waiting writer by owner, too', async () => {
    const [one, other, writer] = await bench.serviceList(3);
    const first = await one.acquire('a', { ...READ, owner: 'me' });
    const writing = writer.acquire('a', WRITE);
    await bench.untilWaiting('a', 1);
    const { value, ran } = await timed(() => other.acquire('a', { ...READ, owner: 'me' }));
    expect(ran).toBeLessThan(AT_ONCE);
    expect(await other.tryAcquire('a', { ...READ, owner: 'you' })).toBeNull();
    await first.release();
    await value!.release();
    await writing;
  });
});

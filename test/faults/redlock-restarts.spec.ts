import { setTimeout as sleep } from 'node:timers/promises';
import type { LockHandle } from '../../lib/index.js';
import { RedlockBench } from '../integration/redlock/support.js';
import { record, redisKey, eventually, RespProxy, holdIds } from '../../lab/testbed/locks/locks.js';

const bench = new RedlockBench(3, { leavesNothing: true });
const LEASE = 1_500;
const options = { renewedLease: LEASE, commandTimeout: 1_000 };

const stateOf = (key: string): string => redisKey('state', key);

describe('a hold whose masters restart empty, one after the other', () => {
  it('continues: its vote is reinstated on each of them', async () => {
    const [one, other] = await bench.pair(options);
    const lock = await one.acquire('a');
    let stolen = 0;
    let trying = true;
    const thief = (async () => {
      while (trying) {
        if ((await other.tryAcquire('a').catch(() => null)) !== null) stolen += 1;
        await sleep(20);
      }
    })();
    try {
      for (const master of bench.masters) {
        await master.kill();
        // All promises that were made to clients there are over.
        await sleep(LEASE);
        await master.restart({ empty: true });
        await hasVoteAgain(master, lock);
      }
    } finally {
      // A loop that outlives a failed test would keep the worker of Jest from its end.
      trying = false;
      await thief;
    }
    expect(stolen).toBe(0);
    await lock.verify();
    expect(await lock.release()).toBe(true);
  });

  it('continues while clients wait, which are then served in order', async () => {
    const services = await bench.serviceList(4, options);
    const lock = await services[0].acquire('a');
    // No master remembers the order of the requests: it takes ages that differ by more than the time of a request.
    const { served, all } = await bench.queueUp('a', services.slice(1), { waitTimeout: '60s' }, () => sleep(300));
    for (const master of bench.masters) {
      await master.restart({ empty: true });
      await hasVoteAgain(master, lock);
    }
    await bench.untilWaiting('a', 3);
    expect(await lock.release()).toBe(true);
    await all;
    expect(served).toEqual([0, 1, 2]);
  });
});

describe('a reinstated vote', () => {
  it('has the token of the hold, and no later holder gets a smaller one there', async () => {
    const service = await bench.service(options);
    // As if the clocks of two masters were an hour ahead, so that every majority has the token of one of them.
    const ahead = (Date.now() + 3_600_000) * 1_000;
    for (const { admin } of bench.masters.slice(0, 2)) await admin.set(redisKey('fence', 'a'), ahead, 'PX', 600_000);
    const lock = await service.acquire('a');
    expect(lock.fencingToken).toBeGreaterThan(ahead);
    await eventually(async () => (await bench.holding('a')).every(Boolean));
    await bench.masters[2]!.admin.flushall();
    await eventually(async () => (await bench.holding('a')).every(Boolean));
    const info = await bench.masters[2]!.admin.hvals(stateOf('a'));
    expect(Number(info[0]!.split(' ')[3])).toBe(lock.fencingToken);
    expect(Number(await bench.masters[2]!.admin.get(redisKey('fence', 'a')))).toBeGreaterThanOrEqual(lock.fencingToken);
    await lock.release();
  });

  it('is not taken if another client has the lock there by now', async () => {
    const service = await bench.service(options);
    const events = record(service);
    const lock = await service.acquire('a');
    await eventually(async () => (await bench.holding('a')).every(Boolean));
    const { admin } = bench.masters[1]!;
    const until = Date.now() + 60_000;
    const stranger = `exclusive held ${until} ${(Date.now() + 1_000) * 1_000} ${Date.now()} stranger`;
    await admin.multi().del(stateOf('a')).hset(stateOf('a'), 'f00:1', stranger).pexpireat(stateOf('a'), until).exec();
    await renewedAgain(events, 2);
    expect(await admin.hkeys(stateOf('a'))).toEqual(['f00:1']);
    expect(lock.isHeld).toBe(true);
    await admin.del(stateOf('a'));
    await lock.release();
  });

  it('is not taken where the hold was ended by force, and then on no other master', async () => {
    const service = await bench.service(options);
    const events = record(service);
    const lock = await service.acquire('a');
    await eventually(async () => (await bench.holding('a')).every(Boolean));
    // What a forced release leaves that has reached only the first master, and of which the client was not notified.
    const id = await holderOf('a');
    const [{ admin }] = bench.masters as [(typeof bench.masters)[number]];
    const [tombstones, until] = [redisKey('tombstones', 'a'), Date.now() + 60_000];
    const forced = admin.multi().del(stateOf('a')).zadd(tombstones, until, `revoked:${id}`);
    await forced.pexpireat(tombstones, until).exec();
    await renewedAgain(events, 3);
    expect(await bench.holding('a')).toEqual([false, true, true]);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
  });
});

it('a lock that is released while a master is gone for long is not held there when the master is back with its data', async () => {
  const service = await bench.service(options);
  const lock = await service.acquire('a', { expire: '5m' });
  await bench.untilHeldByAll('a');
  const [, , master] = bench.masters;
  await master!.admin.call('SAVE');
  await master!.kill();
  expect(await lock.release()).toBe(true);
  // The release there has failed by then.
  await sleep(2 * options.commandTimeout);
  await master!.start();
});

it('a lock that is released soon after the connection to a master was lost is not held there when it is back', async () => {
  const link = bench.endLater(await RespProxy.start(bench.masters[0]!));
  const service = await bench.service({ ...options, connection: [link.url, ...bench.urls.slice(1)] });
  const lock = await service.acquire('a', { expire: '5m' });
  await bench.untilHeldByAll('a');
  link.disconnect();
  // The client knows of it.
  await sleep(100);
  expect(await lock.release()).toBe(true);
  await sleep(2 * options.commandTimeout);
  await link.restore();
});

/** Resolves when a hold stands on a master that has lost it; fails when it is lost. */
async function hasVoteAgain({ admin }: (typeof bench.masters)[number], lock: LockHandle): Promise<void> {
  const id = await holderOf(lock.key);
  await eventually(
    async () => {
      expect(lock.isHeld).toBe(true);
      return (await admin.hexists(stateOf(lock.key), id)) === 1;
    },
    { within: 10_000 },
  );
}

async function holderOf(key: string): Promise<string> {
  const ids = await Promise.all(bench.masters.map(({ admin }) => holdIds(admin, stateOf(key))));
  const votes = ids.flat();
  return votes.find((id) => votes.filter((other) => other === id).length >= 2) ?? 'nobody';
}

/** Resolves when holds have been renewed so many times from now on. */
async function renewedAgain(events: ReturnType<typeof record>, times: number): Promise<void> {
  const count = (): number => events.filter(({ type }) => type === 'renewed').length;
  const before = count();
  await eventually(() => count() >= before + times, { within: 10_000 });
}

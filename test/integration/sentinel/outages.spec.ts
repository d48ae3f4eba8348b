import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, eventuallyPasses } from '../../../lab/testbed/wait/eventually.mjs';
import { FaultLocks } from '../../../lab/testbed/locks/fault-locks.js';
import { startRedisSentinels, type RedisSentinels } from '../../../lab/testbed/servers/redis-sentinels.mjs';
/** How long an outage may take: Sentinels may have to try a second time. */
const OUTAGE = { commandTimeout: '15s', renewedLease: 3_000 } as const;

let sentinels: RedisSentinels;
const locks = new FaultLocks();

// New ones for each test: Sentinels remember failovers, and are in no hurry with the next one.
beforeEach(async () => {
  sentinels = await startRedisSentinels();
});
afterEach(async () => {
  await Promise.all(sentinels.servers.map((server) => server.resume()));
  await locks.closeAll();
  await sentinels.stop();
});

describe('behind Sentinels', () => {
  it('no client returns to a master that was stopped, replaced and resumes', async () => {
    const [one, other] = [
      await locks.start(sentinels.connection, OUTAGE),
      await locks.start(sentinels.connection, OUTAGE),
    ];
    const lock = await one.acquire('a', { replicas: { min: 1, timeout: '2s' } });
    const old = await sentinels.master();
    await old.pause();
    await sentinels.untilMasterIsNot(old);
    // Kept, as its replica knows it, if that took over within the lease; else lost by now.
    await lock.release();
    const next = await other.acquire('a', { waitTimeout: '2m' });
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(lock.isHeld).toBe(false);
    await old.resume();
    // It accepts writes until the Sentinel makes it a replica, which takes eight seconds or more. A caller that trusted it
    // would get the lock.
    for (let times = 0; times < 20; times++) expect(await one.tryAcquire('a')).toBeNull();
    await next.verify();
    expect(await next.release()).toBe(true);
  });

  it('with one replica, no caller gets a lock that a lost master has not replicated, and the next holder has a larger token', async () => {
    const [one, other] = [
      await locks.start(sentinels.connection, OUTAGE),
      await locks.start(sentinels.connection, OUTAGE),
    ];
    const before = await one.acquire('a');
    const { fencingToken } = before;
    await before.release();
    const old = await sentinels.master();
    await old.replicated();
    const replica = sentinels.servers.find((server) => server !== old)!;
    await replica.admin.call('REPLICAOF', 'NO', 'ONE'); // cut off, as by a network: later writes are not known there
    const refused = one.acquire('a', { replicas: { min: 1, timeout: 300 } });
    await expect(refused).rejects.toMatchObject({ code: 'LOCK_STORE' });
    await old.kill();
    await sentinels.untilMasterIsNot(old);
    const next = await eventually(() => other.acquire('a', { waitTimeout: '2m' }), { within: 15_000 });
    expect(next.fencingToken).toBeGreaterThan(fencingToken);
    await eventuallyPasses(() => next.verify());
    expect(await next.release()).toBe(true);
  });
});

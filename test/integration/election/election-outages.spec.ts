import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually, throughout } from '../../../lab/testbed/wait/eventually.mjs';
import { FaultLocks } from '../../../lab/testbed/locks/fault-locks.js';
import { useRedisForEach } from '../../../lab/testbed/locks/fault-setups.js';
import { AT_ONCE } from '../../../lab/testbed/locks/locks.js';
import type { RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

/** Short, so that a lease ends within a test. */
const LEASE = 1_000;
const OPTIONS = { renewedLease: LEASE, commandTimeout: 500, grantTimeout: 500 };

describe('a candidate whose Redis fails', () => {
  const locks = new FaultLocks();
  let redis: RedisServer;
  useRedisForEach(locks, (started) => (redis = started));

  const said = (pattern: RegExp): string[] => locks.lines.map(({ text }) => text).filter((text) => pattern.test(text));

  it('is deposed when Redis is down, reports it once, and leads again when Redis is back', async () => {
    const told: string[] = [];
    const service = await locks.start(redis.url, OPTIONS);
    const election = service.getLeaderElection('a', {
      onElected: () => told.push('elected'),
      onDeposed: (error) => told.push(`deposed ${error?.code}`),
    });
    election.start();
    await eventually(() => election.isLeader);
    for (let outage = 1; outage <= 2; outage++) {
      const { signal } = election;
      const gone = performance.now();
      await redis.kill();
      await eventually(() => signal?.aborted, { every: 1 });
      expect(performance.now() - gone).toBeLessThan(LEASE + AT_ONCE);
      expect(election.isLeader).toBe(false);
      // Long enough for several attempts.
      await eventually(() => said(/cannot stand for election to lead 'a'/).length === outage);
      await sleep(3 * OPTIONS.commandTimeout);
      expect(said(/cannot stand for election to lead 'a'/)).toHaveLength(outage);
      await redis.start();
      await eventually(() => election.isLeader);
    }
    expect(told).toEqual(['elected', 'deposed LOCK_LOST', 'elected', 'deposed LOCK_LOST', 'elected']);
    await election.stop();
  });

  it('starts while Redis is down, and leads when Redis is up', async () => {
    await redis.kill();
    const service = locks.make(redis.url, OPTIONS);
    await service.start().catch(() => undefined);
    const election = service.getLeaderElection('a').start();
    await throughout(700, () => !election.isLeader);
    await redis.start();
    await eventually(() => election.isLeader);
  });

  it('stops within commandTimeout while Redis is down, leading or not', async () => {
    const [one, other] = [await locks.start(redis.url, OPTIONS), await locks.start(redis.url, OPTIONS)];
    const elections = [one.getLeaderElection('a').start(), other.getLeaderElection('a')];
    await eventually(() => elections[0]!.isLeader);
    elections[1]!.start();
    await redis.pause();
    const since = performance.now();
    await Promise.all(elections.map((election) => election.stop()));
    expect(performance.now() - since).toBeLessThan(OPTIONS.commandTimeout + AT_ONCE);
    expect(said(/could not be released/)).toHaveLength(1);
    await redis.resume();
  });

  it.each([
    ['onElected', { workInElected: true }],
    ['onDeposed', { workInElected: false }],
  ])('does not lead again while %s of its lost term still runs', async (_, { workInElected }) => {
    const [service, other] = [await locks.start(redis.url, OPTIONS), await locks.start(redis.url, OPTIONS)];
    const work = deferred();
    const told: string[] = [];
    const election = service.getLeaderElection('a', {
      onElected: async () => {
        told.push('elected');
        if (workInElected) await work;
      },
      onDeposed: async () => {
        told.push('deposed');
        if (!workInElected) await work;
      },
    });
    election.start();
    await eventually(() => election.isLeader);
    const lostTerm = election.signal!;
    await other.forceRelease('a');
    await eventually(() => lostTerm.aborted);
    // Another process is not kept out by the work of the lost term.
    expect(await other.run('a', () => 'free', { waitTimeout: LEASE })).toBe('free');
    await throughout(300, () => !election.isLeader);
    expect(await other.inspect('a')).toBeNull();
    work.resolve();
    await eventually(() => election.isLeader);
    expect(told).toEqual(['elected', 'deposed', 'elected']);
    expect(said(/still runs/)).toEqual([]);
    await election.stop();
  });

  it('stands again after finishTimeout, with a warning, if the work of a term never ends', async () => {
    const service = await locks.start(redis.url, OPTIONS);
    const election = service.getLeaderElection('a', {
      onElected: () => new Promise(() => undefined),
      finishTimeout: 400,
    });
    election.start();
    await eventually(() => election.isLeader);
    const lostTerm = election.signal!;
    await service.forceRelease('a');
    await eventually(() => lostTerm.aborted, { every: 1 });
    const since = performance.now();
    await eventually(() => election.isLeader, { every: 1 });
    expect(performance.now() - since).toBeGreaterThan(350);
    expect(said(/ended 400 ms ago, and its onElected or onDeposed still runs/)).toHaveLength(1);
    await election.stop();
  });

  it.each<[any]>([[-1], ['soon'], [Number.NaN]])('refuses a finishTimeout of %s', async (finishTimeout) => {
    const service = await locks.start(redis.url, OPTIONS);
    expect(() => service.getLeaderElection('a', { finishTimeout })).toThrow(/finishTimeout is/);
  });
});

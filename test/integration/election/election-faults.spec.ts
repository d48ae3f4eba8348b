import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { coordinationWorkers, type CoordinationWorker } from '../../../testbed/workers/coordination.js';
import { deferred } from '../../../testbed/wait/deferred.js';
import { eventually } from '../../../testbed/wait/eventually.mjs';
import { FaultLocks } from '../../../testbed/locks/fault-locks.js';
import { assertNoOverlap, assertTokensGrow, now } from '../../../testbed/history/history.js';
import { AT_ONCE, between, LockBench } from '../../../testbed/locks/locks.js';
import { random } from '../../../testbed/workers/random-sections.mjs';
import { startRedis, type RedisServer } from '../../../testbed/servers/redis-server.mjs';
import { RespProxy } from '../../../testbed/proxies/resp-proxy.mjs';

/** Short, so that a lease ends within a test. */
const LEASE = 1_000;
const OPTIONS = { lockWatchdogTimeout: LEASE, commandTimeout: 500, grantTimeout: 500 };

describe('candidates in several processes', () => {
  const bench = new LockBench();
  const start = coordinationWorkers(bench);

  /** Of candidates that stand one behind the other. */
  async function standing(count: number): Promise<CoordinationWorker[]> {
    const workers = await start(count, OPTIONS);
    for (const [i, worker] of workers.entries()) {
      await worker.stand('a');
      if (i === 0) await worker.told('elected');
      else await bench.untilWaiting('a', i);
    }
    return workers;
  }

  it('a leader that is killed is followed within its lease and a little', async () => {
    const [leader, next] = (await standing(2)) as [CoordinationWorker, CoordinationWorker];
    const killed = now();
    await leader.process.kill();
    const { at } = await next.told('elected');
    expect(between(killed, at)).toBeLessThan(LEASE + AT_ONCE);
  });

  it('a leader that resigns or stops is followed at once', async () => {
    const [one, two, three] = (await standing(3)) as [CoordinationWorker, CoordinationWorker, CoordinationWorker];
    let since = now();
    expect(await one.resign()).toBe(true);
    expect(between(since, (await two.told('elected')).at)).toBeLessThan(AT_ONCE);
    await bench.untilWaiting('a', 2);
    since = now();
    await two.stop();
    expect(between(since, (await three.told('elected')).at)).toBeLessThan(AT_ONCE);
    since = now();
    await three.process.call('stopWaiting');
    expect(between(since, (await one.told('elected')).at)).toBeLessThan(AT_ONCE);
  });

  it('a leader that is stalled past its lease knows on the next line, and is followed meanwhile', async () => {
    const [one, two] = (await standing(2)) as [CoordinationWorker, CoordinationWorker];
    const stall = one.process.call<{ led: boolean; leads: boolean }>('stall', LEASE + 600);
    const { at } = await two.told('elected');
    expect(await stall).toEqual({ led: true, leads: false });
    const deposed = await one.told('deposed');
    expect(deposed.code).toBe('LOCK_LOST');
    expect(at).toBeLessThan(deposed.at);
    // And stands again.
    await bench.untilWaiting('a', 1);
    await two.stop();
    await one.told('elected');
  });

  it('there are never two leaders, whatever happens to them', async () => {
    const lease = 500;
    const workers = await start(4, { ...OPTIONS, lockWatchdogTimeout: lease });
    await Promise.all(workers.map((worker) => worker.stand('a')));
    const next = random(42);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
    const until = performance.now() + 9_000;
    while (performance.now() < until) {
      const worker = pick(workers);
      const what = next();
      if (what < 0.4) {
        // Whoever leads does; nobody waits for one that is stalled.
        for (const { process } of workers) process.send({ method: 'resign' });
      } else if (what < 0.6) {
        worker.process.pause();
        await sleep(next() * 2 * lease);
        worker.process.resume();
      } else if (what < 0.75) {
        worker.process.send({ method: 'stall', args: [Math.round(next() * 2 * lease)] });
      } else if (what < 0.85) {
        await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', pick(['normal', 'pubsub']), 'SKIPME', 'yes');
      } else {
        await worker.stop();
        await worker.stand('a');
      }
      await sleep(next() * 150);
    }
    const terms = (await Promise.all(workers.map((worker) => worker.terms()))).flat();
    // It was a run worth looking at.
    expect(terms.length).toBeGreaterThan(6);
    expect(new Set(terms.map(({ who }) => who)).size).toBeGreaterThan(2);
    assertNoOverlap(terms);
    assertTokensGrow(terms);
  });
});

describe('an election and a Redis that fails', () => {
  let redis: RedisServer;
  const locks = new FaultLocks();
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    await locks.closeAll();
    await redis.stop();
  });

  const said = (pattern: RegExp): string[] => locks.lines.map(({ text }) => text).filter((text) => pattern.test(text));

  it('is deposed when Redis is gone, says so once, and leads again when it is back', async () => {
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

  it('starts while Redis is gone, and leads when it comes', async () => {
    await redis.kill();
    const service = locks.make(redis.url, OPTIONS);
    await service.start().catch(() => undefined);
    const election = service.getLeaderElection('a').start();
    await sleep(700);
    expect(election.isLeader).toBe(false);
    await redis.start();
    await eventually(() => election.isLeader);
  });

  it('stops within commandTimeout while Redis is gone, leading or not', async () => {
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

  it('a leader whose answers are lost is deposed before the next one is elected', async () => {
    await using proxy = await RespProxy.start(redis);
    const [one, other] = [await locks.start(proxy.url, OPTIONS), await locks.start(redis.url, OPTIONS)];
    const order: string[] = [];
    const cut = one.getLeaderElection('a', { onDeposed: () => order.push('deposed') }).start();
    await eventually(() => cut.isLeader);
    const next = other.getLeaderElection('a', { onElected: () => order.push('elected') }).start();
    await eventually(() => redis.admin.zcard('lock:queue:{a}'));
    proxy.dropRequests();
    proxy.dropReplies();
    await eventually(() => next.isLeader);
    expect(order).toEqual(['deposed', 'elected']);
    proxy.heal();
    await eventually(async () => (await redis.admin.zcard('lock:queue:{a}')) === 1);
    await next.stop();
    await eventually(() => cut.isLeader);
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
    await sleep(300);
    expect(election.isLeader).toBe(false);
    expect(await other.inspect('a')).toBeNull();
    work.resolve();
    await eventually(() => election.isLeader);
    expect(told).toEqual(['elected', 'deposed', 'elected']);
    expect(said(/still runs/)).toEqual([]);
    await election.stop();
  });

  it('stands again after finishTimeout, with a warning, when the work of a term never ends', async () => {
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

  it('stops at once while the work of a lost term still runs, and waits for it when it is started again', async () => {
    const service = await locks.start(redis.url, OPTIONS);
    const work = deferred();
    const election = service.getLeaderElection('a', { onElected: () => work }).start();
    await eventually(() => election.isLeader);
    const lostTerm = election.signal!;
    await service.forceRelease('a');
    await eventually(() => lostTerm.aborted);
    const since = performance.now();
    await election.stop();
    expect(performance.now() - since).toBeLessThan(AT_ONCE);
    election.start();
    await sleep(200);
    expect(election.isLeader).toBe(false);
    work.resolve();
    await eventually(() => election.isLeader);
    await election.stop();
  });

  it.each([[-1], ['soon'], [Number.NaN]])('refuses a finishTimeout of %s', async (finishTimeout) => {
    const service = await locks.start(redis.url, OPTIONS);
    expect(() => service.getLeaderElection('a', { finishTimeout })).toThrow(/finishTimeout is/);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import type { LockService, LeaderElection, LeaderElectionOptions, LockHandle } from 'nestjs-redis-locks';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually, throughout } from '../../../lab/testbed/wait/eventually.mjs';
import { aborted, AT_ONCE, LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import { Random } from '../../../lab/chaos/schedule/random.mjs';
import { assertNoViolation } from '../../../lab/testbed/history/history.js';

const bench = new LockBench();

/** A candidate that notes down its notifications. */
function candidate(service: LockService, options: LeaderElectionOptions = {}) {
  const told: string[] = [];
  const election: LeaderElection = service.getLeaderElection('a', options);
  election.onElected((handle, signal) => {
    told.push(`elected ${handle.fencingToken === election.fencingToken} ${election.isLeader} ${signal.aborted}`);
  });
  election.onDeposed((error) => void told.push(`deposed ${error?.code} ${election.isLeader}`));
  return { election, told };
}
const ELECTED = 'elected true true false';
const LEFT = 'deposed undefined false';
const LOST = 'deposed LOCK_LOST false';

const leads = (election: LeaderElection): Promise<unknown> =>
  eventually(() => election.isLeader, { what: 'leadership', within: 5_000 });

/** A leader, and a candidate that stands behind it. */
async function pair(options = {}) {
  const [first, second] = await bench.pair(options);
  const [one, other] = [
    { service: first, ...candidate(first) },
    { service: second, ...candidate(second) },
  ];
  one.election.start();
  await leads(one.election);
  other.election.start();
  await bench.untilWaiting('a', 1);
  return [one, other] as const;
}

describe('a leader election', () => {
  it('begins when it is started, elects one candidate, and notifies it', async () => {
    const { election, told } = candidate(await bench.service());
    expect(election.key).toBe('a');
    expect(election.isLeader).toBe(false);
    expect([election.handle, election.signal, election.fencingToken]).toEqual([undefined, undefined, undefined]);
    expect(await bench.redis.admin.dbsize()).toBe(0);
    expect(election.start()).toBe(election);
    election.start();
    await leads(election);
    expect(told).toEqual([ELECTED]);
    expect(election.handle?.isHeld).toBe(true);
    expect(election.fencingToken).toBe(election.handle?.fencingToken);
    expect(JSON.parse(JSON.stringify(election))).toEqual({
      key: 'a',
      isLeader: true,
      fencingToken: election.fencingToken,
    });
    await election.stop();
    await bench.untilNothingIsLeft();
  });

  it('has one leader, and the next one leads at once after stop', async () => {
    const [one, other] = await pair();
    expect(other.election.isLeader).toBe(false);
    const { signal, handle } = one.election;
    const since = performance.now();
    const stopping = one.election.stop();
    // On the next line, before Redis has received it.
    expect(one.election.isLeader).toBe(false);
    expect(signal?.aborted).toBe(true);
    expect(one.told).toEqual([ELECTED, LEFT]);
    await stopping;
    expect(handle?.isHeld).toBe(false);
    await leads(other.election);
    expect(performance.now() - since).toBeLessThan(AT_ONCE);
    expect(other.told).toEqual([ELECTED]);
    expect(other.election.fencingToken).toBeGreaterThan(handle!.fencingToken);
  });

  it('removes a candidate that stops from the queue', async () => {
    const [, other] = await pair();
    await other.election.stop();
    await eventually(async () => (await bench.waiters('a')).length === 0);
    expect(other.told).toEqual([]);
    expect(other.election.isLeader).toBe(false);
  });

  it('passes to another candidate at resign, or back to the same one if there is none', async () => {
    const [one, other] = await pair();
    expect(await other.election.resign()).toBe(false);
    expect(await one.election.resign()).toBe(true);
    await leads(other.election);
    await bench.untilWaiting('a', 1);
    expect(one.election.isLeader).toBe(false);
    expect(await other.election.resign()).toBe(true);
    await leads(one.election);
    await bench.untilWaiting('a', 1);
    await other.election.stop();
    const { fencingToken } = one.election;
    expect(await one.election.resign()).toBe(true);
    await leads(one.election);
    expect(one.election.fencingToken).toBeGreaterThan(fencingToken!);
    expect(one.told).toEqual([ELECTED, LEFT, ELECTED, LEFT, ELECTED]);
  });

  it('treats a release of the handle as resign', async () => {
    const [one, other] = await pair();
    const { signal } = one.election;
    expect(await one.election.handle!.release()).toBe(true);
    expect(signal?.aborted).toBe(true);
    await leads(other.election);
    await bench.untilWaiting('a', 1);
    expect(one.told).toEqual([ELECTED, LEFT]);
  });

  it('notifies a leader whose lock was released by force, which stands again behind the others', async () => {
    const [one, other] = await pair();
    const { signal, handle } = one.election;
    expect(await other.service.forceRelease('a')).toBe(true);
    expect(await aborted(signal!)).toMatchObject({ code: 'LOCK_LOST', key: 'a' });
    expect(handle!.signal.aborted).toBe(true);
    expect(one.told).toEqual([ELECTED, LOST]);
    await leads(other.election);
    await bench.untilWaiting('a', 1);
    await other.election.stop();
    await leads(one.election);
    expect(one.told).toEqual([ELECTED, LOST, ELECTED]);
  });

  it('can be started again after it was stopped', async () => {
    const { election, told } = candidate(await bench.service());
    for (let round = 0; round < 3; round++) {
      election.start();
      await leads(election);
      await election.stop();
    }
    election.start();
    const stopping = election.stop();
    election.start();
    await stopping;
    await leads(election);
    expect(told).toEqual([ELECTED, LEFT, ELECTED, LEFT, ELECTED, LEFT, ELECTED]);
  });

  it('ends with its `await using` block', async () => {
    const service = await bench.service();
    {
      await using election = service.getLeaderElection('a').start();
      await leads(election);
    }
    await bench.untilNothingIsLeft();
  });

  it("does not re-enter locks of the surrounding scope, nor does the leader's work", async () => {
    const service = await bench.service();
    const { election } = candidate(service);
    const nested = deferred<LockHandle | null>();
    await service.run('a', async () => {
      election.onElected(async () => nested.resolve(await service.tryAcquire('a')));
      election.start();
      await bench.untilWaiting('a', 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(election.isLeader).toBe(false);
    });
    await leads(election);
    expect(await nested).toBeNull();
  });
});

describe('listeners of an election', () => {
  it('are only logged if they throw', async () => {
    const service = await bench.service();
    const election = service.getLeaderElection('a', {
      onElected: () => Promise.reject(new Error('of the elected')),
      onDeposed: () => {
        throw new Error('of the deposed');
      },
    });
    election.start();
    await leads(election);
    await election.stop();
    expect(bench.lines.filter((line) => /^(warn|error)/.test(line))).toEqual([
      "error: onElected of the election of 'a' failed: of the elected",
      "error: onDeposed of the election of 'a' failed: of the deposed",
    ]);
  });

  it('are called until they are removed', async () => {
    const { election, told } = candidate(await bench.service());
    const more: string[] = [];
    const stop = [election.onElected(() => more.push('elected')), election.onDeposed(() => more.push('deposed'))];
    election.start();
    await leads(election);
    await election.resign();
    await leads(election);
    for (const each of stop) each();
    await election.stop();
    expect(more).toEqual(['elected', 'deposed', 'elected']);
    expect(told).toEqual([ELECTED, LEFT, ELECTED, LEFT]);
  });

  it('delay the next leader until the last one has finished, while no candidate leads', async () => {
    const [one, other] = await pair();
    const tidy = deferred();
    one.election.onDeposed(() => tidy);
    const resigned = one.election.resign();
    expect(one.election.isLeader).toBe(false);
    await throughout(100, () => !other.election.isLeader);
    tidy.resolve();
    expect(await resigned).toBe(true);
    await leads(other.election);
  });

  it('may call stop and resign', async () => {
    const service = await bench.service();
    const done: string[] = [];
    const election = service.getLeaderElection('a', {
      onElected: async () => {
        done.push(`resigned ${await election.resign()}`);
        await election.stop();
        done.push('stopped');
      },
    });
    election.start();
    await eventually(() => done.includes('stopped'));
    expect(done[0]).toBe('resigned true');
    await bench.untilNothingIsLeft();
  });
});

describe('elections at shutdown', () => {
  it('another replica takes over at once, and shutdown does not wait for shutdownTimeout', async () => {
    const [one, other] = await pair({ shutdownTimeout: 10_000 });
    const since = performance.now();
    one.service.stopWaiting();
    expect(one.election.isLeader).toBe(false);
    await leads(other.election);
    expect(performance.now() - since).toBeLessThan(AT_ONCE);
    await one.service.close();
    expect(performance.now() - since).toBeLessThan(5_000);
    expect(one.told).toEqual([ELECTED, LEFT]);
    expect(other.election.isLeader).toBe(true);
    await other.service.close();
  });

  it('a clean-up that hangs delays the shutdown by shutdownTimeout at most', async () => {
    const service = await bench.service({ shutdownTimeout: 200 });
    const election = service.getLeaderElection('a', { onDeposed: () => new Promise(() => undefined) }).start();
    await leads(election);
    const { ran } = await timed(() => service.close());
    expect(ran).toBeLessThan(200 + AT_ONCE);
    await bench.untilNothingIsLeft();
    await election.stop();
  });
});

/** Short, so that a lease ends within a test. */
const LEASE = 1_000;
const OPTIONS = { renewedLease: LEASE, commandTimeout: 500, grantTimeout: 500 };

it('candidates in several processes never have two leaders, whatever fails', async () => {
  const lease = 500;
  const workers = await bench.workers(4, { ...OPTIONS, renewedLease: lease });
  await Promise.all(workers.map((worker) => worker.stand('a')));
  const random = new Random(42);
  const until = performance.now() + 9_000;
  while (performance.now() < until) {
    const worker = random.among(workers);
    const what = random.next();
    if (what < 0.4) {
      // Resigns the current leader; the call does not wait for a stalled process.
      for (const { process } of workers) process.send({ method: 'resign' });
    } else if (what < 0.6) {
      worker.process.pause();
      await sleep(random.next() * 2 * lease);
      worker.process.resume();
    } else if (what < 0.75) {
      worker.process.send({ method: 'stall', args: [Math.round(random.next() * 2 * lease)] });
    } else if (what < 0.85) {
      await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', random.among(['normal', 'pubsub']), 'SKIPME', 'yes');
    } else {
      await worker.stop();
      await worker.stand('a');
    }
    await sleep(random.next() * 150);
  }
  const terms = (await Promise.all(workers.map((worker) => worker.terms()))).flat();
  // It was a run worth looking at.
  expect(terms.length).toBeGreaterThan(6);
  expect(new Set(terms.map(({ who }) => who)).size).toBeGreaterThan(2);
  assertNoViolation(terms);
});

describe('a candidate whose Redis fails', () => {
  const said = (pattern: RegExp): string[] => bench.lines.filter((line) => pattern.test(line));

  it('is deposed when Redis is down, reports it once, and leads again when Redis is back', async () => {
    const told: string[] = [];
    const service = await bench.service(OPTIONS);
    const election = service.getLeaderElection('a', {
      onElected: () => told.push('elected'),
      onDeposed: (error) => told.push(`deposed ${error?.code}`),
    });
    election.start();
    await eventually(() => election.isLeader);
    for (let outage = 1; outage <= 2; outage++) {
      const { signal } = election;
      const gone = performance.now();
      await bench.redis.kill();
      await eventually(() => signal?.aborted, { every: 1 });
      expect(performance.now() - gone).toBeLessThan(LEASE + AT_ONCE);
      expect(election.isLeader).toBe(false);
      // Long enough for several attempts.
      await eventually(() => said(/cannot stand for election to lead 'a'/).length === outage);
      await sleep(3 * OPTIONS.commandTimeout);
      expect(said(/cannot stand for election to lead 'a'/)).toHaveLength(outage);
      await bench.redis.start();
      await eventually(() => election.isLeader);
    }
    expect(told).toEqual(['elected', 'deposed LOCK_LOST', 'elected', 'deposed LOCK_LOST', 'elected']);
    await election.stop();
  });

  it('stops within commandTimeout while Redis is down, leading or not', async () => {
    const [one, other] = [await bench.service(OPTIONS), await bench.service(OPTIONS)];
    const elections = [one.getLeaderElection('a').start(), other.getLeaderElection('a')];
    await eventually(() => elections[0]!.isLeader);
    elections[1]!.start();
    await bench.redis.pause();
    const since = performance.now();
    await Promise.all(elections.map((election) => election.stop()));
    expect(performance.now() - since).toBeLessThan(OPTIONS.commandTimeout + AT_ONCE);
    expect(said(/could not be released/)).toHaveLength(1);
    await bench.redis.resume();
  });

  it.each([
    ['onElected', { workInElected: true }],
    ['onDeposed', { workInElected: false }],
  ])('does not lead again while %s of its lost term still runs', async (_, { workInElected }) => {
    const [service, other] = [await bench.service(OPTIONS), await bench.service(OPTIONS)];
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
    const service = await bench.service(OPTIONS);
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
});

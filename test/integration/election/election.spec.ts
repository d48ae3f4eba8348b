import { describe, expect, it } from '@jest/globals';
import type { LockService } from '../../../lib/service/lock.service.js';
import type { LeaderElection, LeaderElectionOptions } from '../../../lib/service/objects/leader-election.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually, throughout } from '../../../lab/testbed/wait/eventually.mjs';
import { FaultLocks } from '../../../lab/testbed/locks/fault-locks.js';
import { aborted, AT_ONCE, inTurn, LockBench, timed } from '../../../lab/testbed/locks/locks.js';

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
  const [one, other] = (await bench.serviceList(2, options)).map((service) => ({ service, ...candidate(service) }));
  one!.election.start();
  await leads(one!.election);
  other!.election.start();
  await bench.untilWaiting('a', 1);
  return [one!, other!] as const;
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
    const locks = new FaultLocks();
    const service = await locks.start(bench.redis.url);
    const election = service.getLeaderElection('a', {
      onElected: () => Promise.reject(new Error('of the elected')),
      onDeposed: () => {
        throw new Error('of the deposed');
      },
    });
    election.start();
    await leads(election);
    await election.stop();
    expect(locks.lines.filter(({ level }) => level === 'error').map(({ text }) => text)).toEqual([
      "onElected of the election of 'a' failed: of the elected",
      "onDeposed of the election of 'a' failed: of the deposed",
    ]);
    await locks.closeAll();
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

  it('refuse options that make no sense', async () => {
    const service = await bench.service();
    const refused = async (options: object, message: RegExp): Promise<void> => {
      const { error } = await timed(async () => service.getLeaderElection('a', options));
      expect(error).toMatchObject({ code: 'LOCK_CONFIG', message: expect.stringMatching(message) });
    };
    await refused({ onElect: () => 1 }, /getLeaderElection has no option "onElect": did you mean 'onElected'/);
    await refused({ onElected: 5 }, /onElected is 5; write a function/);
    await refused({ replicas: { min: 0 } }, /replicas.min is 0/);
    await refused({ expire: 500 }, /has no option "expire"/);
    await refused([], /takes an object of options/);
    expect(() => service.getLeaderElection('')).toThrow(expect.objectContaining({ code: 'LOCK_KEY' }));
    expect(() => service.getLeaderElection('a').onElected('x' as never)).toThrow(/write a function/);
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

  it('closing does the same, and leaves nothing of leaders and candidates', async () => {
    const services = await bench.serviceList(3, { shutdownTimeout: 10_000 });
    const all = await inTurn(6, (i) => candidate(services[i % 3]!));
    for (const { election } of all) election.start();
    await eventually(() => all.some(({ election }) => election.isLeader));
    const { ran } = await timed(() => Promise.all(services.map((service) => service.close())));
    expect(ran).toBeLessThan(5_000);
    expect(all.map(({ election }) => election.isLeader)).toEqual(Array(6).fill(false));
    await bench.untilNothingIsLeft();
  });

  it('no new candidate can stand', async () => {
    const service = await bench.service();
    const { election, told } = candidate(service);
    service.stopWaiting();
    expect(() => election.start()).toThrow(
      expect.objectContaining({ code: 'LOCK_STORE', message: expect.stringMatching(/shutting down/) }),
    );
    await election.stop();
    expect(told).toEqual([]);
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

import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { RedlockBench } from '../redlock/support.js';

const bench = new RedlockBench(3);

describe.each([
  ['in memory', { store: 'memory', keyPrefix: 'elections' }],
  ['on Redlock', {}],
] as const)('an election %s', (_name, options) => {
  it('elects one candidate, and another one after a resign, loss, stop or shutdown', async () => {
    const services = await bench.serviceList(3, { shutdownTimeout: 5_000, ...options });
    const all = services.map((service) => ({ service, election: service.getLeaderElection('a') }));
    for (const { election } of all) election.start();
    const leader = () => eventually(() => all.find(({ election }) => election.isLeader), { within: 10_000 });
    const next = async (last: (typeof all)[number]): Promise<(typeof all)[number]> => {
      const after = await eventually(() => all.find((one) => one !== last && one.election.isLeader), {
        within: 10_000,
      });
      expect(all.filter(({ election }) => election.isLeader)).toEqual([after]);
      return after;
    };
    const first = await leader();
    expect(await first.election.resign()).toBe(true);
    const second = await next(first);
    const { signal } = second.election;
    await first.service.forceRelease('a');
    await eventually(() => signal?.aborted);
    const third = await leader();
    await third.election.stop();
    const fourth = await next(third);
    const since = performance.now();
    await fourth.service.close();
    expect(performance.now() - since).toBeLessThan(2_500);
    await next(fourth);
  });
});

describe('features that a store lacks', () => {
  it('no latches on several masters', async () => {
    const service = await bench.service();
    expect(() => service.getCountDownLatch('a')).toThrow(
      expect.objectContaining({
        code: 'LOCK_CONFIG',
        message: expect.stringMatching(/need one Redis.*Redlock.*forRoot/),
      }),
    );
  });

  it('an election whose options can never be met fails, and does not stand', async () => {
    const service = await bench.service();
    const election = service.getLeaderElection('b', { replicas: { min: 1 } }).start();
    const complaints = (): string[] => bench.lines.filter((line) => /^(warn|error)/.test(line));
    await eventually(() => complaints().some((line) => /cannot stand for election to lead 'b': `replicas`/.test(line)));
    await election.stop();
    expect(complaints()).toHaveLength(1);
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockService } from '../../../lib/service/lock.service.js';
import { createLockService } from '../../../lib/module/redis-lock.composition.js';
import { resolveModuleOptions, type RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

const masters: RedisServer[] = [];
const services: LockService[] = [];
const lines: string[] = [];
const say = (text: string): void => void lines.push(text);
const logger = { debug() {}, log() {}, warn: say, error: say };

beforeAll(async () => {
  masters.push(...(await Promise.all([startRedis(), startRedis(), startRedis()])));
});
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
  lines.length = 0;
});
afterAll(() => Promise.all(masters.map((master) => master.stop())));

const stores: ReadonlyArray<readonly [string, () => RedisLockModuleOptions]> = [
  ['in memory', () => ({ store: 'memory', keyPrefix: 'elections' })],
  ['on Redlock', () => ({ connection: masters.map(({ url }) => url) })],
];

async function start(options: RedisLockModuleOptions, count: number): Promise<LockService[]> {
  const made = Array.from({ length: count }, () =>
    createLockService(resolveModuleOptions({ shutdownTimeout: 5_000, ...options }), logger),
  );
  services.push(...made);
  await Promise.all(made.map((service) => service.start()));
  return made;
}

describe.each(stores)('an election %s', (_name, options) => {
  it('elects one candidate, and another one after a resign, loss, stop or shutdown', async () => {
    const all = (await start(options(), 3)).map((service) => ({ service, election: service.getLeaderElection('a') }));
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
    const [service] = (await start(stores[1]![1](), 1)) as [LockService];
    expect(() => service.getCountDownLatch('a')).toThrow(
      expect.objectContaining({
        code: 'LOCK_CONFIG',
        message: expect.stringMatching(/need one Redis.*Redlock.*forRoot/),
      }),
    );
  });

  it('an election whose options can never be met fails, and does not stand', async () => {
    const [service] = (await start(stores[1]![1](), 1)) as [LockService];
    const election = service.getLeaderElection('b', { replicas: { min: 1 } }).start();
    await eventually(() => lines.some((line) => /cannot stand for election to lead 'b': `replicas`/.test(line)));
    await election.stop();
    expect(lines).toHaveLength(1);
  });
});

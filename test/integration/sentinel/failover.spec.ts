import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { FaultLocks, nothingLeftBehind, redisKey } from '../../../lab/testbed/locks/fault-locks.js';
import { useSentinels } from '../../../lab/testbed/locks/fault-setups.js';
import type { RedisSentinels } from '../../../lab/testbed/servers/redis-sentinels.mjs';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { expectHandoff } from '../../../lab/testbed/locks/handoff.js';

/** With leases of 30 s waiters ask by themselves after 3 s at the earliest: anything sooner came by other means. */
const SOON = 2_500;
/** How long an outage may take: Sentinels may have to try a second time. */
const OUTAGE = { commandTimeout: '15s' } as const;

let sentinels: RedisSentinels;
const locks = new FaultLocks();
useSentinels(locks, (started) => (sentinels = started));

const waitersOf = async (key: string): Promise<number> =>
  (await sentinels.master()).admin.zcard(redisKey('queue', key));

/** All writes so far will be known after a failover. */
const replicated = async (): Promise<void> => (await sentinels.master()).replicated();

describe('behind Sentinels', () => {
  /** Resolves when so many clients listen to the current master. */
  const untilListening = (count: number): Promise<unknown> =>
    eventually(
      async () => {
        const { admin } = await sentinels.master();
        return (await admin.pubsub('CHANNELS', 'lock:client:*')).length === count;
      },
      { within: 10_000 },
    );

  it.each<[string, () => Promise<unknown>]>([
    ['SENTINEL FAILOVER', () => sentinels.failover()],
    [
      'the master is killed',
      async () => {
        const old = await sentinels.master();
        await old.kill();
        await sentinels.untilMasterIsNot(old);
      },
    ],
  ])('%s: holders keep their locks, and the new master serves waiters', async (_how, failOver) => {
    const [one, other] = [
      await locks.start(sentinels.connection, OUTAGE),
      await locks.start(sentinels.connection, OUTAGE),
    ];
    const lock = await one.acquire('a');
    const waiting = other.acquire('a', { waitTimeout: '2m' });
    await eventually(async () => (await waitersOf('a')) === 1);
    await replicated();
    await failOver();
    await untilListening(2);
    await lock.verify();
    await expectHandoff(lock, waiting, SOON);
  });

  it('SENTINEL FAILOVER: replicas are confirmed at the new master, while the old one still accepts writes', async () => {
    const service = await locks.start(sentinels.connection);
    const lock = await service.acquire('a', { replicas: { min: 1, timeout: '2s' } });
    const old = await sentinels.master();
    await sentinels.failover();
    await untilListening(1);
    const master = await sentinels.master();
    const atOld = (await old.commandStats())['wait'];
    // No replica follows the new master yet.
    await service.acquire('b', { replicas: { min: 1, timeout: 100 } }).catch(() => undefined);
    expect((await master.commandStats())['wait']).toBeGreaterThan(0);
    expect((await old.commandStats())['wait']).toBe(atOld);
    await lock.release();
    await nothingLeftBehind(master);
  });

  it('a failover during the question for the master does not end the client', async () => {
    await using proxy = await RespProxy.start(sentinels.watcher);
    const { host, port } = proxy;
    // The library asks with ioredis, whatever the client of the other tests is.
    const options = { ...sentinels.connection, sentinels: [{ host, port }], failoverDetector: true, lazyConnect: true };
    const service = await locks.start(new Redis(options), OUTAGE);
    const lock = await service.acquire('a');
    await replicated();
    // The detectors receive everything; requests of clients are answered late.
    proxy.holdReplies(({ isSubscriber }) => !isSubscriber);
    const asked = proxy.seen(() => true);
    const old = await sentinels.master();
    await old.admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await asked;
    await sentinels.failover();
    // The test cannot see whether the detector has received it.
    await sleep(200);
    proxy.heal();
    await eventually(() => lock.verify().then(() => true), { within: 10_000 });
    expect(await lock.release()).toBe(true);
    expect(await (await service.acquire('a')).release()).toBe(true);
  });
});

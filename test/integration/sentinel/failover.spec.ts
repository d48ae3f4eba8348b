import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { SentinelBench } from '../../../lab/testbed/locks/sentinel-bench.js';
import { expectHandoff, eventually, RespProxy, SOON } from '../../../lab/testbed/locks/locks.js';

/** How long an outage may take: Sentinels may have to try a second time. */
const OUTAGE = { commandTimeout: '15s' } as const;

const bench = new SentinelBench();

/** All writes so far will be known after a failover. */
const replicated = async (): Promise<void> => (await bench.sentinels.master()).replicated();

describe('behind Sentinels', () => {
  /** Resolves when so many clients listen to the current master. */
  const untilListening = (count: number): Promise<unknown> =>
    eventually(
      async () => {
        const { admin } = await bench.sentinels.master();
        return (await admin.pubsub('CHANNELS', 'lock:client:*')).length === count;
      },
      { within: 10_000 },
    );

  it.each<[string, () => Promise<unknown>]>([
    ['SENTINEL FAILOVER', () => bench.sentinels.failover()],
    [
      'the master is killed',
      async () => {
        const old = await bench.sentinels.master();
        await old.kill();
        await bench.sentinels.untilMasterIsNot(old);
      },
    ],
  ])('%s: holders keep their locks, and the new master serves waiters', async (_how, failOver) => {
    const [one, other] = await bench.pair(OUTAGE);
    const { lock, waiting } = await bench.contended(one, other, { waitTimeout: '2m' });
    await replicated();
    await failOver();
    await untilListening(2);
    await lock.verify();
    await expectHandoff(lock, waiting, SOON);
  });

  it('SENTINEL FAILOVER: replicas are confirmed at the new master, while the old one still accepts writes', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { replicas: { min: 1, timeout: '2s' } });
    const old = await bench.sentinels.master();
    await bench.sentinels.failover();
    await untilListening(1);
    const master = await bench.sentinels.master();
    const atOld = (await old.commandStats())['wait'];
    // No replica follows the new master yet.
    await service.acquire('b', { replicas: { min: 1, timeout: 100 } }).catch(() => undefined);
    expect((await master.commandStats())['wait']).toBeGreaterThan(0);
    expect((await old.commandStats())['wait']).toBe(atOld);
    await lock.release();
    await bench.untilNothingIsLeft([master]);
  });

  it('a failover during the question for the master does not end the client', async () => {
    await using proxy = await RespProxy.start(bench.sentinels.watcher);
    const { host, port } = proxy;
    // The library asks with ioredis, whatever the client of the other tests is.
    const options = {
      ...bench.sentinels.connection,
      sentinels: [{ host, port }],
      failoverDetector: true,
      lazyConnect: true,
    };
    const service = await bench.service({ ...OUTAGE, connection: new Redis(options) });
    const lock = await service.acquire('a');
    await replicated();
    // The detectors receive everything; requests of clients are answered late.
    proxy.holdReplies(({ isSubscriber }) => !isSubscriber);
    const asked = proxy.seen(() => true);
    const old = await bench.sentinels.master();
    await old.cutCommands();
    await asked;
    await bench.sentinels.failover();
    // The test cannot see whether the detector has received it.
    await sleep(200);
    proxy.heal();
    await eventually(() => lock.verify().then(() => true), { within: 10_000 });
    expect(await lock.release()).toBe(true);
    expect(await (await service.acquire('a')).release()).toBe(true);
  });
});

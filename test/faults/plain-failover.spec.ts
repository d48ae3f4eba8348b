import { ReplicaBench, untilFollowing } from '../../lab/testbed/locks/replica-bench.js';
import { expectHandoff, timed, eventually, eventuallyPasses, SOON } from '../../lab/testbed/locks/locks.js';

/** Longer than a `FAILOVER` takes: the master holds back all writes until the replica's next ack, once a second. */
const LEASE = 5_000;

const bench = new ReplicaBench({ records: true, leavesNothing: true });

/** Master and replica change places, by the command `FAILOVER`. */
async function failover(): Promise<void> {
  const { master, replica } = bench;
  await master.admin.call('FAILOVER', 'TO', replica.host, replica.port, 'TIMEOUT', 5_000);
  await eventually(async () => (await replica.admin.info('replication')).includes('role:master'), { within: 10_000 });
  [bench.master, bench.replica] = [replica, master];
}

const listeners = async (): Promise<number> => (await bench.master.admin.pubsub('CHANNELS', 'lock:client:*')).length;

describe('FAILOVER, behind an address that leads to the new master', () => {
  it('holders keep their locks, waiters receive messages of the new master, and tokens grow, back and forth', async () => {
    const [one, other] = await bench.pair();
    for (let round = 0; round < 2; round++) {
      const { lock, waiting } = await bench.contended(one, other, { waitTimeout: '30s' });
      await failover();
      bench.address.leadTo(bench.master);
      // Refused as a write to a replica, which sends it to the new master.
      await eventuallyPasses(() => lock.verify(), { within: 5_000 });
      await eventually(async () => (await listeners()) === 2, { within: 5_000, what: 'both to hear the new master' });
      await expectHandoff(lock, waiting, SOON);
      await untilFollowing(bench.master);
    }
    expect(bench.told('lost')).toEqual([]);
  });

  it('replicas are those of the new master, from the first request on', async () => {
    const service = await bench.service();
    const replicas = { min: 1, timeout: '2s' } as const;
    const lock = await service.acquire('a', { replicas });
    await failover();
    bench.address.leadTo(bench.master);
    await eventuallyPasses(() => lock.verify(), { within: 5_000 });
    await untilFollowing(bench.master);
    const before = (await bench.master.commandStats())['wait'] ?? 0;
    expect(await (await service.acquire('b', { replicas })).release()).toBe(true);
    expect((await bench.master.commandStats())['wait']).toBe(before + 1);
    expect(await lock.release()).toBe(true);
  });

  it('a master that has become a replica confirms nothing, and renews nothing', async () => {
    const service = await bench.service({ commandTimeout: 500, renewedLease: LEASE });
    const lock = await service.acquire('a');
    await failover();
    // The address still leads to the old one. On a busy machine an answer may be late: then the call says that instead.
    const calls: Array<Awaited<ReturnType<typeof timed>>> = [];
    await eventually(async () => {
      calls.push(await timed(lock.verify()));
      return /this server is a replica|leads to a replica/.test(calls.at(-1)!.error?.message);
    });
    for (const { error, ran } of calls) {
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
      expect(ran).toBeLessThan(SOON);
    }
    await eventually(() => lock.signal.aborted, { within: 2 * LEASE });
    expect(lock.isHeld).toBe(false);
    bench.address.leadTo(bench.master);
    const next = await eventually(() => service.acquire('a', { waitTimeout: 5_000 }), { within: 5_000 });
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await next.release()).toBe(true);
  });
});

import { untilFollowing, useReplica } from '../../lab/testbed/locks/fault-setups.js';
import { eventually, eventuallyPasses } from '../../lab/testbed/wait/eventually.mjs';
import { FaultLocks, nothingLeftBehind, redisKey, timed } from '../../lab/testbed/locks/fault-locks.js';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import type { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';
import { expectHandoff } from '../../lab/testbed/locks/handoff.js';

/** With leases of 30 s waiters ask by themselves after 3 s at the earliest: anything sooner came by other means. */
const SOON = 2_500;
/** Longer than a `FAILOVER` takes: the master holds back all writes until the replica's next ack, once a second. */
const LEASE = 5_000;

let master: RedisServer;
let replica: RedisServer;
/** Stands for an address that leads to the current master; existing connections stay where they are. */
let address: RespProxy;
const locks = new FaultLocks();

useReplica(locks, (...all) => ([master, replica, address] = all));

/** Master and replica change places, by the command `FAILOVER`. */
async function failover(): Promise<void> {
  await master.admin.call('FAILOVER', 'TO', replica.host, replica.port, 'TIMEOUT', 5_000);
  await eventually(async () => (await replica.admin.info('replication')).includes('role:master'), { within: 10_000 });
  [master, replica] = [replica, master];
}

const waitersOf = (key: string): Promise<number> => master.admin.zcard(redisKey('queue', key));
const listeners = async (): Promise<number> => (await master.admin.pubsub('CHANNELS', 'lock:client:*')).length;

describe('FAILOVER, behind an address that leads to the new master', () => {
  it('holders keep their locks, waiters receive messages of the new master, and tokens grow, back and forth', async () => {
    const [one, other] = [await locks.start(address.url), await locks.start(address.url)];
    for (let round = 0; round < 2; round++) {
      const lock = await one.acquire('a');
      const waiting = other.acquire('a', { waitTimeout: '30s' });
      await eventually(async () => (await waitersOf('a')) === 1);
      await failover();
      address.leadTo(master);
      // Refused as a write to a replica, which sends it to the new master.
      await eventuallyPasses(() => lock.verify(), { within: 5_000 });
      await eventually(async () => (await listeners()) === 2, { within: 5_000, what: 'both to hear the new master' });
      await expectHandoff(lock, waiting, SOON);
      await untilFollowing(master);
    }
    expect(locks.told('lost')).toEqual([]);
    await nothingLeftBehind(master);
  });

  it('replicas are those of the new master, from the first request on', async () => {
    const service = await locks.start(address.url);
    const replicas = { min: 1, timeout: '2s' } as const;
    const lock = await service.acquire('a', { replicas });
    await failover();
    address.leadTo(master);
    await eventuallyPasses(() => lock.verify(), { within: 5_000 });
    await untilFollowing(master);
    const before = (await master.commandStats())['wait'] ?? 0;
    expect(await (await service.acquire('b', { replicas })).release()).toBe(true);
    expect((await master.commandStats())['wait']).toBe(before + 1);
    expect(await lock.release()).toBe(true);
  });

  it('a master that has become a replica confirms nothing, and renews nothing', async () => {
    const service = await locks.start(address.url, { commandTimeout: 500, renewedLease: LEASE });
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
    address.leadTo(master);
    const next = await eventually(() => service.acquire('a', { waitTimeout: 5_000 }), { within: 5_000 });
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await next.release()).toBe(true);
  });
});

import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import type { LockHandle, LockService } from 'nestjs-redis-locks';
import { shardChannel } from '../../lib/keys/redis-keys.js';
import { idOf } from '../../lab/testbed/servers/cluster-nodes.mjs';
import { RunningTime } from '../../lab/testbed/wait/running-time.mjs';
import { redisKey, timed, useOf, eventually, throughout, type RedisServer } from '../../lab/testbed/locks/locks.js';

const NODE_TIMEOUT = 2_000;
const bench = new ClusterBench({ replicas: 1, nodeTimeout: NODE_TIMEOUT });
/** The time it may take until clients use a replica that took over. */
const SOON = 4_500;

describe('a master of a Cluster that stays frozen', () => {
  const patient = { slotsRefreshTimeout: 60_000 };

  it.each<[what: string, clients: number, connection: () => object]>([
    ['a client of ours', 1, () => ({ cluster: bench.cluster.addresses })],
    ['a Cluster that the application brought', 1, () => bench.cluster.client()],
    // None waits until the frozen one answers which node serves which slots.
    ['each of six clients', 6, () => ({ cluster: bench.cluster.addresses, options: patient })],
  ])('%s reaches its replica soon after the takeover, and no call fails', async (_what, count, connection) => {
    const clients = await bench.serviceList(count, { connection: connection(), commandTimeout: '60s' });
    const use = () => Promise.all(clients.map((service) => timed(useOf(service, 'a'))));
    await use();
    const master = await bench.cluster.masterOf('a');
    const replica = await bench.cluster.replicaOf(master);
    await master.pause();
    const calls = use();
    await eventually(() => replica.isMaster(), { within: 60_000, every: 20, what: 'a replica that takes over' });
    const time = new RunningTime();
    expect((await calls).filter(({ error }) => error !== undefined)).toEqual([]);
    expect(time.stop().ran).toBeLessThan(SOON);
    // The connection to the frozen one has been left for good.
    for (const { ran } of await use()) expect(ran).toBeLessThan(SOON);
  });

  it('as long as a command has no answer, the other masters are asked which node serves which slots', async () => {
    const service = await bench.service({ commandTimeout: '60s' });
    await useOf(service, 'a');
    const master = await bench.cluster.masterOf('a');
    const other = await bench.cluster.otherMaster('a');
    await master.pause();
    const call = timed(useOf(service, 'a'));
    await other.resetCommandStats();
    // Without a reason, they are asked every 5 s.
    const isAsked = async (): Promise<boolean> => {
      const calls = await other.commandStats();
      return (calls['cluster|slots'] ?? calls['cluster'] ?? 0) >= 3; // Redis 6.2 does not count subcommands
    };
    await eventually(isAsked, { within: 4_500, every: 100 });
    await master.resume();
    expect((await call).error).toBeUndefined();
  });

  it('clients that start in the meantime get their locks soon after the takeover', async () => {
    const master = await bench.cluster.masterOf('a');
    const other = await bench.cluster.otherMaster('a');
    const replica = await bench.cluster.replicaOf(master);
    await master.pause();
    // Each client asks one of the two first.
    const connection = { cluster: [master, other].map(({ host, port }) => ({ host, port })) };
    const services = Array.from({ length: 8 }, () => bench.make({ connection }));
    const starts = Promise.all(services.map((service) => timed(service.start())));
    await eventually(() => replica.isMaster(), { within: 60_000, every: 20, what: 'a replica that takes over' });
    const time = new RunningTime();
    await starts;
    // A service continues to connect after it has reported that Redis cannot be reached.
    const first = await Promise.all(services.map((service, i) => timed(useOf(service, `first-${i}`))));
    const inSlot = await Promise.all(services.map((service) => timed(useOf(service, 'a'))));
    const calls = [...first, ...inSlot];
    expect(calls.filter(({ error }) => error !== undefined)).toEqual([]);
    const { ran } = time.stop();
    expect(Math.max(...calls.map((call) => call.ran))).toBeLessThan(SOON);
    expect(ran).toBeLessThan(2 * SOON);
  });
});

it('a master of a Cluster that is frozen delays no calls to other masters, however many calls wait for it', async () => {
  const service = await bench.service();
  const master = await bench.cluster.masterOf('a');
  const isElsewhere = async (key: string): Promise<boolean> => (await bench.cluster.masterOf(key)) !== master;
  const keys = await Promise.all(['b', 'c', 'd', 'e'].map(async (key) => ((await isElsewhere(key)) ? [key] : [])));
  const [other] = keys.flat();
  await Promise.all(['a', other!].map((key) => useOf(service, key)));
  await master.pause();
  const stop = new AbortController();
  const ends = Array.from({ length: 1_500 }, (_, i) => timed(service.acquire(`${i}{a}`, { signal: stop.signal })));
  const { error, ran } = await timed(useOf(service, other!));
  stop.abort();
  await Promise.all(ends);
  expect(error).toBeUndefined();
  expect(ran).toBeLessThan(1_000);
});

describe('a master of a Cluster that is frozen, replaced and thawed', () => {
  const service = (options: object = {}): Promise<LockService> => bench.service({ commandTimeout: '60s', ...options });
  /** Shorter than the silence after which a client doubts a master. */
  const SHORT = 400;

  /**
   * Freezes the master of 'a', releases the key into its socket, and resolves to the hold at its replica: of a new caller, or
   * of the waiter, if that is subscribed at the replica before the release arrives there. `next` gets the key after that.
   */
  async function takeOver(
    held: LockHandle,
    waiting?: Promise<LockHandle>,
  ): Promise<{ old: RedisServer; lock: LockHandle; next: Promise<LockHandle>; released: Promise<boolean> }> {
    const newcomer = await service();
    await useOf(newcomer, 'b');
    const old = await bench.cluster.masterOf('a');
    await old.replicated();
    await old.pause();
    const released = held.release();
    const taking = newcomer.acquire('a', { waitTimeout: '60s' });
    const callers = [taking, waiting ?? taking];
    const [first] = await Promise.race(callers.map((each) => each.then(() => [each] as const)));
    return { old, lock: await first, next: callers.find((each) => each !== first) ?? taking, released };
  }

  /** The old master executes its backlog: no call may get the lock from it. */
  async function expectExcluded(lock: LockHandle, waiting: Promise<LockHandle>): Promise<void> {
    let waited: LockHandle | undefined;
    void waiting.then((handle) => (waited = handle));
    await throughout(2_000, () => lock.isHeld && waited?.isHeld !== true, { what: 'a lock with a single holder' });
    expect(await lock.release()).toBe(true);
    expect((await waiting).fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await (await waiting).release()).toBe(true);
    await bench.untilNothingIsLeft();
  }

  it('grants nothing to a waiter that has no command under way', async () => {
    // It asks again after 10 s.
    const [holder, other] = [await service(), await service({ grantTimeout: 10_000 })];
    const { lock: held, waiting } = await bench.contended(holder, other, { waitTimeout: '60s' });
    const { old, lock, next, released } = await takeOver(held, waiting);
    await old.resume();
    await expectExcluded(lock, next);
    expect(await released).toBe(true);
  });

  it('grants nothing to a call that was sent to it in the meantime', async () => {
    const [holder, other] = [await service(), await service()];
    await useOf(other, 'a');
    const { old, lock } = await takeOver(await holder.acquire('a'));
    const waiting = other.acquire('a', { waitTimeout: '60s' });
    await throughout(SHORT, () => lock.isHeld);
    await old.resume();
    await expectExcluded(lock, waiting);
  });

  it('grants nothing with a message that reaches a subscriber of another node', async () => {
    const [holder, other] = [await service(), await service({ grantTimeout: 10_000 })];
    const held = await holder.acquire('a');
    let isGranted = false;
    const waiting = other.acquire('a', { waitTimeout: '60s' });
    void waiting.then(() => (isGranted = true));
    await bench.untilWaiting('a', 1);
    const { id, client } = (await holder.inspect('a'))!.waiters[0]!;
    const { admin } = await bench.cluster.masterOf('a');
    const channel = shardChannel('lock', 'a', client);
    const granted = async (node: string): Promise<unknown> => {
      const message = ['granted', id, held.fencingToken + 1_000_000, 30_000, Date.now(), 1, 0, node, 'a'].join(' ');
      expect(await admin.call('SPUBLISH', channel, message)).toBe(1);
      return throughout(500, () => !isGranted, { what: 'a waiter without the lock' });
    };
    await granted('f'.repeat(40));
    await granted('-');
    // The message would count.
    await expect(granted(await idOf(await bench.cluster.masterOf('a')))).rejects.toThrow('a waiter without the lock');
    await (await waiting).release();
    expect(await held.release()).toBe(true);
  });

  it('extends no lease: the new master does', async () => {
    const [holder, other] = [await service(), await service()];
    const extended = await other.acquire('b{a}', { expire: '30s' });
    const { old, lock } = await takeOver(await holder.acquire('a'));
    const extending = extended.extend('1h');
    await throughout(SHORT, () => lock.isHeld);
    await old.resume();
    await extending;
    const lease = await (await bench.cluster.masterOf('a')).admin.pttl(redisKey('state', 'b{a}'));
    expect(lease).toBeGreaterThan(50 * 60_000);
    expect(await extended.release()).toBe(true);
  });
});

describe('a master of a Cluster that crashes', () => {
  it('during a confirmation by replicas: their timeout covers the failover', async () => {
    const service = await bench.service({ commandTimeout: '60s' });
    const old = await bench.cluster.masterOf('a');
    const replica = await bench.cluster.replicaOf(old);
    await (await service.acquire('a', { replicas: { min: 1, timeout: '30s' } })).release();
    await replica.pause();
    const taking = timed(service.acquire('a', { expire: '5m', replicas: { min: 1, timeout: '2m' } }));
    await eventually(() => old.admin.exists(redisKey('state', 'a')));
    // The replica has been sent it, and reads it when it resumes.
    await old.kill();
    await replica.resume();
    await eventually(() => replica.isMaster(), { within: 60_000, every: 20, what: 'a replica that takes over' });
    await old.start();
    const { value: lock, error } = await taking;
    expect(error).toBeUndefined();
    await lock!.verify();
    expect(await lock!.release()).toBe(true);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { ClusterProxies } from '../../lab/testbed/proxies/cluster-proxies.js';
import { playWithEachFault, playWithFault } from '../../lab/testbed/locks/lock-scenario.js';
import { expectHandoff, redisKey, timed, eventually } from '../../lab/testbed/locks/locks.js';

/** Scenarios that are played at once, each over proxies and on a key of its own. */
const AT_ONCE = 10;
/** The commands that the master of a key receives for that key; the rest is about the Cluster. */
const NAMES = ['evalsha', 'eval', 'ssubscribe'];
/** A Cluster's client asks again 100 ms and more after a connection is lost, and ten scenarios share this process. */
const LEASE = 9_000;
/** After a lost connection, ioredis asks the nodes for their slots, for 1 s each. A busy machine needs several attempts. */
const COMMAND_TIMEOUT = 15_000;
/** ms of a slow network. */
const ROUND_TRIP = 400;
/** So many clients start that each master would be the first for some of them. */
const STARTS = 12;
/** For how many ms a master is away: several attempts to connect fail. */
const AWAY = 3_000;
/** By how much a timer may be late in this process. */
const LATE_TIMER = 1_000;

const bench = new ClusterBench();

describe('a Cluster', () => {
  it('continues normally if the reply to the n-th command is lost, for every n', async () => {
    const observer = await bench.service();
    const play = async (key: string, nth: number) => {
      await using proxies = await ClusterProxies.start(bench.cluster);
      const proxy = proxies.of(await bench.cluster.masterOf(key));
      const scenario = { connection: proxies.connection, key, observer, lease: LEASE, commandTimeout: COMMAND_TIMEOUT };
      return await playWithFault(scenario, proxy, proxy.cutAfterCommand({ nth, names: NAMES }));
    };
    // All of them at one master, which has the scripts then.
    await play('{all}:plain:1', Infinity);
    const { commands } = await play('{all}:plain:2', Infinity);
    const sent = commands.filter(({ name }) => NAMES.includes(name)).length;
    // The scripts of the scenario, and the subscriptions of two clients.
    expect(sent).toBeGreaterThan(12);
    await playWithEachFault(sent, AT_ONCE, (n) => play(`{all}:${n}`, n));
  });

  it('that is far away: a waiter takes its place when its subscription stands, however long that takes', async () => {
    await using proxies = await ClusterProxies.start(bench.cluster);
    const [holder, far] = [await bench.service(), await bench.service({ connection: proxies.connection })];
    const lock = await holder.acquire('a');
    const proxy = proxies.of(await bench.cluster.masterOf('a'));
    // A subscription takes several round trips: longer than the reply of an acquisition may be delayed by it.
    proxy.delay({ request: ROUND_TRIP / 2, reply: ROUND_TRIP / 2 });
    let [subscribed, asked] = [Infinity, Infinity];
    proxy.onCommand(({ name }) => {
      if (name === 'ssubscribe') subscribed = performance.now();
      if (name === 'evalsha' && subscribed < Infinity) asked = Math.min(asked, performance.now());
    });
    const waiting = far.acquire('a');
    await bench.untilWaiting('a', 1);
    // Without its subscription, a waiter asks again after three seconds.
    expect(asked - subscribed).toBeLessThan(ROUND_TRIP + LATE_TIMER);
    await expectHandoff(lock, waiting);
  });

  it('lets clients start while one of its masters does not answer', async () => {
    await using proxies = await ClusterProxies.start(bench.cluster);
    proxies.all[0]!.holdReplies();
    const services = Array.from({ length: STARTS }, () => bench.make({ connection: proxies.connection }));
    await Promise.all(services.map((service) => service.start()));
    proxies.all[0]!.heal();
  });

  it('is not asked again about all locks while one master is away, but when it is back', async () => {
    await using proxies = await ClusterProxies.start(bench.cluster);
    const service = await bench.service({ connection: proxies.connection });
    const keys = await bench.cluster.keysOnAllMasters('d', 30);
    const held = await Promise.all(keys.map((key) => service.acquire(key)));
    const proxy = proxies.of(await bench.cluster.masterOf(keys[0]!));
    proxy.disconnect();
    // At first, each of them is asked about, and its subscriptions are made elsewhere.
    await sleep(1_000);
    await bench.resetStats();
    await sleep(AWAY);
    expect(await bench.calls('evalsha')).toBeLessThan(keys.length / 2);
    await proxy.restore();
    await eventually(async () => (await bench.calls('evalsha')) >= keys.length, { within: 3_000 });
    for (const lock of held) expect(await lock.release()).toBe(true);
  });

  it('leaves no lock behind for a call that fails while the master of its key is cut off for long', async () => {
    const TIMEOUT = 400;
    await using proxies = await ClusterProxies.start(bench.cluster);
    const [service] = await bench.serviceList(1, { connection: proxies.connection, commandTimeout: TIMEOUT });
    await service.run('a', () => undefined);
    const master = await bench.cluster.masterOf('a');
    const proxy = proxies.of(master);
    const { happened: executed } = proxy.cutAfterCommand({ names: ['evalsha'] });
    const acquiring = timed(service.acquire('a', { expire: '5m' }));
    await executed;
    proxy.disconnect();
    expect((await acquiring).error.code).toBe('LOCK_STORE');
    await sleep(4 * TIMEOUT);
    const isHeld = async (): Promise<boolean> => (await master.admin.exists(redisKey('state', 'a'))) === 1;
    expect(await isHeld()).toBe(true);
    await proxy.restore();
    await eventually(async () => !(await isHeld()));
  });
});

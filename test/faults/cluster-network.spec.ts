import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { ClusterProxies } from '../../lab/testbed/proxies/cluster-proxies.js';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { abortOf, FaultLocks, timed } from '../../lab/testbed/locks/fault-locks.js';
import { playLockScenario } from '../../lab/testbed/locks/lock-scenario.js';
import type { CommandSelector, Fault, RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';

/** Scenarios mostly wait, so several are played at once, each over proxies and on a key of its own. */
const AT_ONCE = 10;
/** The commands that the master of a key receives for that key; the rest is about the Cluster. */
const NAMES = ['evalsha', 'eval', 'ssubscribe'];
/** A Cluster's client asks again 100 ms and more after a connection is lost, and ten scenarios share this process. */
const LEASE = 9_000;
/** After a lost connection, ioredis asks the nodes for their slots, for 1 s each. A busy machine needs several attempts. */
const COMMAND_TIMEOUT = 15_000;
const BOUND = 600;
const LATE = 1_500;
/** ms of a slow network. */
const ROUND_TRIP = 400;
/** By how much a timer may be late in this process. */
const LATE_TIMER = 1_000;

const bench = new ClusterBench();
const locks = new FaultLocks();
afterEach(() => locks.closeAll());

describe('a Cluster', () => {
  it('handles an empty script cache in every command', async () => {
    await using proxies = await ClusterProxies.start(bench.cluster);
    const observer = await bench.service();
    let [called, sentAsText] = [0, 0];
    proxies.all.forEach((proxy, i) => {
      // The flush goes out before the command: it is sent while the command still waits in the proxy.
      proxy.delay({ request: 5 });
      proxy.onCommand(({ name }) => {
        if (name === 'eval') sentAsText += 1;
        if (name !== 'evalsha') return;
        called += 1;
        void bench.cluster.nodes[i]!.admin.script('FLUSH', 'SYNC');
      });
    });
    await playLockScenario(locks, { connection: proxies.connection, key: 'a', observer, lease: LEASE });
    expect(called).toBeGreaterThanOrEqual(8);
    // Only where two clients call the same script within milliseconds does the text that one sends serve the other.
    expect(sentAsText).toBeGreaterThanOrEqual(called - 3);
    await locks.closeAll();
    await bench.untilNothingIsLeft();
  });

  const faults: Array<[string, (proxy: RespProxy, selector: CommandSelector) => Fault]> = [
    ['the reply to the n-th command is lost', (proxy, selector) => proxy.cutAfterCommand(selector)],
    ['the n-th command itself is lost', (proxy, selector) => proxy.cutBeforeCommand(selector)],
  ];
  it.each(faults)('continues normally if %s, for every n', async (_what, faultOf) => {
    const observer = await bench.service();
    const play = async (key: string, nth: number) => {
      await using proxies = await ClusterProxies.start(bench.cluster);
      const proxy = proxies.of(await bench.cluster.masterOf(key));
      const fault = faultOf(proxy, { nth, names: NAMES });
      let hit: string | undefined;
      void fault.happened.then(({ name, args }) => (hit = `${name} ${args[0] ?? ''}`));
      const own = new FaultLocks();
      const { error } = await timed(
        playLockScenario(own, {
          ...{ connection: proxies.connection, key, observer },
          ...{ lease: LEASE, commandTimeout: COMMAND_TIMEOUT },
        }),
      );
      fault.cancel();
      await own.closeAll();
      return { sent: proxy.commands.filter(({ name }) => NAMES.includes(name)).length, hit, error };
    };
    // All of them at one master, which has the scripts then.
    await play('{all}:plain:1', Infinity);
    const { sent } = await play('{all}:plain:2', Infinity);
    // The scripts of the scenario, and the subscriptions of two clients.
    expect(sent).toBeGreaterThan(12);
    const failures: string[] = [];
    let missed = 0;
    const left = Array.from({ length: sent }, (_, i) => i + 1);
    const player = async (): Promise<void> => {
      for (let n = left.shift(); n !== undefined; n = left.shift()) {
        const { hit, error } = await play(`{all}:${n}`, n);
        if (hit === undefined) missed += 1;
        if (error !== undefined) failures.push(`command ${n} (${hit}): ${error.message}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, player));
    expect(failures).toEqual([]);
    // How often a waiter asks again is a matter of milliseconds, so the last numbers may not be reached every time.
    expect(missed).toBeLessThanOrEqual(2);
  });

  it('that is far away: a waiter takes its place when its subscription stands, however long that takes', async () => {
    await using proxies = await ClusterProxies.start(bench.cluster);
    const [holder, far] = [await bench.service(), await locks.start(proxies.connection)];
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
    await lock.release();
    await (await waiting).release();
  });

  describe('whose master of a key cannot be heard (one-way partition)', () => {
    const [KEY, ELSEWHERE] = ['a', 'b'];
    let proxies: ClusterProxies;
    let proxy: RespProxy;
    beforeEach(async () => {
      proxies = await ClusterProxies.start(bench.cluster);
      proxy = proxies.of(await bench.cluster.masterOf(KEY));
      expect(await bench.cluster.masterOf(ELSEWHERE)).not.toBe(await bench.cluster.masterOf(KEY));
    });
    afterEach(async () => {
      await locks.closeAll();
      await proxies[Symbol.asyncDispose]();
    });

    it('an acquire fails in time, other slots continue, and its unconfirmed hold does not last', async () => {
      const [far, near] = [await locks.start(proxies.connection, { commandTimeout: BOUND }), await bench.service()];
      await (await far.acquire(KEY)).release();
      proxy.dropReplies();
      const acquired = timed(far.acquire(KEY, { expire: 30_000, waitTimeout: 5_000 }));
      // Requests pass: Redis has granted the lock to a client that does not know.
      await eventually(async () => (await near.inspect(KEY))?.holds === 1);
      const next = timed(near.acquire(KEY));
      expect(await (await far.acquire(ELSEWHERE)).release()).toBe(true);
      const { error, ran } = await acquired;
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
      expect(ran).toBeLessThan(2 * BOUND + LATE);
      const { value, took: waited } = await next;
      expect(waited).toBeLessThan(2 * BOUND + 2 * LATE);
      proxy.heal();
      // Commands that were sent twice or late have no effect.
      await eventually(async () => (await near.inspect(KEY))?.waiters.length === 0);
      await value!.verify();
      expect(await value!.release()).toBe(true);
      expect(await (await far.acquire(KEY, { waitTimeout: 5_000 })).release()).toBe(true);
      await bench.untilNothingIsLeft();
    });

    it('a holder is notified in time, although its renewals arrive', async () => {
      const options = { commandTimeout: BOUND, renewedLease: 1_500 };
      const [far, near] = [await locks.start(proxies.connection, options), await bench.service()];
      const handle = await far.acquire(KEY);
      const other = await far.acquire(ELSEWHERE);
      const aborted = abortOf(handle.signal);
      proxy.dropReplies();
      const validUntil = performance.now() + handle.remainingTime();
      const next = near.acquire(KEY);
      // Only replies extend the validity, so it ends with the lease that the last reply confirmed.
      expect(await aborted).toBeLessThan(validUntil + LATE_TIMER);
      const lock = await next;
      expect(lock.fencingToken).toBeGreaterThan(handle.fencingToken);
      expect(other.isHeld).toBe(true);
      proxy.heal();
      expect(await handle.release()).toBe(false);
      await lock.verify();
      expect(await lock.release()).toBe(true);
      expect(await other.release()).toBe(true);
      await bench.untilNothingIsLeft();
    });
  });
});

import { createHash } from 'node:crypto';
import { SCRIPTS, type LuaScript } from '../../lib/store/redis/scripts.generated.js';
import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { ClusterProxies } from '../../lab/testbed/proxies/cluster-proxies.js';
import { expectHandoff, SOON } from '../../lab/testbed/locks/locks.js';

/**
 * A server without sharded pub/sub, in two halves: the commands are unknown to these servers, and the scripts, which go by
 * `redis.REDIS_VERSION_NUM`, find none. In all else the servers are as new as they are.
 */
const bench = new ClusterBench(
  {
    args: ['SSUBSCRIBE', 'SUNSUBSCRIBE', 'SPUBLISH'].flatMap((name) => ['--rename-command', name, '']),
  },
  { leavesNothing: true },
);
const shipped = Object.values(SCRIPTS).map((script) => ({ script, state: { ...script } }));
for (const { script } of shipped) {
  const source = script.source.replaceAll('redis.REDIS_VERSION_NUM ~= nil', 'false');
  const sha1 = createHash('sha1').update(source).digest('hex');
  Object.assign<LuaScript, Partial<LuaScript>>(script, { source, sha1 });
}
// Other spec files share the library.
afterAll(() => {
  for (const { script, state } of shipped) Object.assign(script, state);
});

describe('a Cluster without sharded pub/sub, as before Redis 7', () => {
  it('has no sharded subscriptions, and the scripts do not use them', async () => {
    const [node] = bench.cluster.nodes;
    await expect(node!.admin.call('SSUBSCRIBE', 'x')).rejects.toThrow(/unknown command/i);
    expect(Object.values(SCRIPTS).some(({ source }) => source.includes('TAG and false'))).toBe(true);
    expect(Object.values(SCRIPTS).some(({ source }) => source.includes('REDIS_VERSION_NUM'))).toBe(false);
  });

  it('a handoff goes over the bus and takes one round trip more', async () => {
    const [one, ...others] = await bench.serviceList(3);
    const lock = await one.acquire('a');
    const { served, all } = await bench.queueUp('a', others);
    const since = performance.now();
    expect(await lock.release()).toBe(true);
    await all;
    expect(performance.now() - since).toBeLessThan(SOON);
    expect(served).toEqual([0, 1]);
  });

  it('a crashed waiter blocks the others for one grantTimeout', async () => {
    const grantTimeout = 1_000;
    await using proxies = await ClusterProxies.start(bench.cluster);
    const [one, other] = await bench.pair({ grantTimeout });
    const gone = await bench.service({ grantTimeout, commandTimeout: 500, connection: proxies.connection });
    const lock = await one.acquire('c');
    const unserved = gone.acquire('c').catch(({ code }) => code);
    await bench.untilWaiting('c', 1);
    const waiting = other.acquire('c');
    await bench.untilWaiting('c', 2);
    for (const proxy of proxies.all) {
      proxy.refuse();
      proxy.cutAll();
    }
    const since = performance.now();
    await expectHandoff(lock, waiting);
    // The bus does not show which clients listen, so the client that is gone is granted the lock first.
    expect(performance.now() - since).toBeGreaterThan(grantTimeout - 50);
    expect(performance.now() - since).toBeLessThan(grantTimeout + SOON);
    expect(await unserved).toBe('LOCK_STORE');
  });
});

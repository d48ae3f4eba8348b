import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { Proxy } from '../../chaos/harness/proxy.mjs';
import { ClusterBench } from '../../testbed/locks/cluster-bench.js';
import { startFaultWorker } from '../../testbed/locks/fault-locks.js';

const bench = new ClusterBench();
/** Renewed after a third of it. */
const LEASE = 1_500;

it('a connection that breaks off while it asks for leave in a slot on its way leaves no rejection unhandled', async () => {
  const { nodes } = bench.cluster;
  const proxies = await Promise.all(nodes.map(({ host, port }) => Proxy.start({ host, port })));
  const natMap = Object.fromEntries(
    nodes.map(({ host, port }, i) => [`${host}:${port}`, { host, port: proxies[i]!.port }]),
  );
  const cluster = nodes.map(({ host }, i) => ({ host, port: proxies[i]!.port }));
  const worker = await startFaultWorker({ connection: { cluster, options: { natMap } }, lockWatchdogTimeout: LEASE });
  try {
    await worker.call('acquire', 'held', 'f', {});
    const arriving = proxies[nodes.indexOf(await bench.cluster.otherMaster('f'))]!;
    await bench.cluster.migrate('f', async () => {
      arriving.holdReplies();
      // A renewal is sent on to where its key is by now, after an ASKING that gets no answer.
      await sleep(LEASE / 2);
      arriving.cut();
      await arriving.heal();
    });
    expect(await worker.call('escaped')).toEqual([]);
  } finally {
    await worker.kill();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }
});

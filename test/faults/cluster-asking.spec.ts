import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { startFaultWorker } from '../../lab/testbed/locks/fault-locks.js';
import { ClusterProxies } from '../../lab/testbed/proxies/cluster-proxies.js';

const bench = new ClusterBench();
/** Renewed after a third of it. */
const LEASE = 1_500;

it('a connection that breaks while it sends ASKING for a moving slot causes no unhandled rejection', async () => {
  await using proxies = await ClusterProxies.start(bench.cluster);
  const worker = await startFaultWorker({ connection: proxies.connection, renewedLease: LEASE });
  try {
    await worker.call('acquire', 'held', 'f', {});
    const arriving = proxies.of(await bench.cluster.otherMaster('f'));
    await bench.cluster.migrate('f', async () => {
      arriving.holdReplies();
      // A renewal is sent on to where its key is by now, after an ASKING that gets no answer.
      await sleep(LEASE / 2);
      arriving.cutAll();
      arriving.heal();
    });
    expect(await worker.call('escaped')).toEqual([]);
  } finally {
    await worker.kill();
  }
});

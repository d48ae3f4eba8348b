import { expect, it } from '@jest/globals';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

const bench = new ClusterBench();

it('clients of a Cluster name each other, whatever the slots of their records', async () => {
  const observer = await bench.service();
  for (const label of ['orders:1', 'orders:2', 'orders:3', 'orders:4']) {
    const holder = await bench.service({ label });
    const waiter = await bench.service({ label: `${label}:waits` });
    const key = `key of ${label}`;
    const lock = await holder.acquire(key, { pattern: 'order:{id}' });
    const waiting = waiter.acquire(key, { pattern: 'import' });
    await bench.untilWaiting(key, 1);
    await eventually(async () => {
      const info = (await observer.inspect(key))!;
      expect(info.holders).toMatchObject([{ label, pattern: 'order:{id}', client: holder.clientId, connected: true }]);
      expect(info.waiters).toMatchObject([
        { label: `${label}:waits`, pattern: 'import', since: expect.any(Date), connected: true },
      ]);
      return true;
    });
    await lock.release();
    await (await waiting).release();
  }
  const lists = await Promise.all(bench.cluster.nodes.map(({ admin }) => admin.client('LIST')));
  expect(lists.join('\n')).toMatch(/ name=orders:1 /);
});

it('tells that a holder which has ended is not connected, whatever node has its subscription', async () => {
  const [observer, other] = [await bench.service(), await bench.service()];
  const [worker] = await bench.workerList(1);
  await worker!.acquire('a', { expire: '1m' });
  const connected = async () => (await observer.inspect('a'))!.holders.map((each) => each.connected);
  expect(await connected()).toEqual([true]);
  await worker!.process.kill();
  await eventually(async () => (await connected())[0] === false);
  await other.forceRelease('a');
});

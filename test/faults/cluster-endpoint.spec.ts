import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { expectHandoff, eventually } from '../../lab/testbed/locks/locks.js';

/** One server that has all slots, and a plain connection: what a proxy before a whole Cluster looks like. */
const bench = new ClusterBench({ masters: 1 }, { records: true });
const start = (options?: object) => bench.service({ connection: bench.cluster.nodes[0]!.url, ...options });

const renewedKeys = (): Set<string> => new Set(bench.told('renewed').map(({ key }) => key));
const notices = () => bench.lines.filter((line) => line.includes('one endpoint of a Redis Cluster'));

describe('one endpoint of a Cluster', () => {
  it('renews all locks of a process, and says once what it has learned', async () => {
    const service = await start({ renewedLease: '1500ms' });
    const keys = ['alpha', 'beta', 'gamma', 'delta'];
    const handles = await Promise.all(keys.map((key) => service.acquire(key)));
    await eventually(() => bench.told('renewed').length >= 5 * keys.length, { within: 20_000 });
    expect(renewedKeys()).toEqual(new Set(keys));
    expect(handles.map(({ isHeld }) => isHeld)).toEqual([true, true, true, true]);
    expect(bench.told('lost')).toEqual([]);
    expect(notices()).toHaveLength(1);
  });

  it('acquires several keys at once, also with one try', async () => {
    const service = await start();
    const handle = await service.acquire(['x', 'y', 'z']);
    expect(handle.isHeld).toBe(true);
    await handle.release();
    const tried = await service.tryAcquire(['x', 'y']);
    expect(tried?.isHeld).toBe(true);
    expect(await tried!.release()).toBe(true);
    expect(notices()).toHaveLength(1);
  });

  it('serves semaphores, latches, elections, waiters and the list of locks', async () => {
    const [one, other] = [await start(), await start()];
    const lock = await one.acquire('k');
    const waiting = other.acquire('k');
    await eventually(async () => (await one.inspect('k'))?.waiters.length === 1);
    await expectHandoff(lock, waiting);
    const latch = one.getCountDownLatch('latch');
    await latch.trySetCount(1);
    const opened = other.getCountDownLatch('latch').await({ waitTimeout: '10s' });
    await latch.countDown();
    await opened;
    const permits = await one.acquire('s', { permits: 20 });
    const listed: string[] = [];
    for await (const { key } of one.list()) listed.push(key);
    expect(listed).toEqual(['s']);
    await permits.release();
  });
});

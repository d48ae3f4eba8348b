import { FaultLocks } from '../../lab/testbed/locks/fault-locks.js';
import { startRedisCluster, type RedisCluster } from '../../lab/testbed/servers/redis-cluster.mjs';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';

/** One server that has all slots, and a plain connection: what a proxy before a whole Cluster looks like. */
const locks = new FaultLocks();
let cluster: RedisCluster;
let endpoint: RedisServer;

beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 1 });
  endpoint = cluster.nodes[0]!;
});
beforeEach(() => endpoint.admin.flushall());
afterEach(() => locks.closeAll());
afterAll(() => cluster.stop());

const renewedKeys = (): Set<string> => new Set(locks.told('renewed').map(({ key }) => key));
const notices = () => locks.lines.filter(({ text }) => text.includes('one endpoint of a Redis Cluster'));

describe('one endpoint of a Cluster', () => {
  it('renews all locks of a process, and says once what it has learned', async () => {
    const service = await locks.start(endpoint.url, { renewedLease: '1500ms' });
    const keys = ['alpha', 'beta', 'gamma', 'delta'];
    const handles = await Promise.all(keys.map((key) => service.acquire(key)));
    await eventually(() => locks.told('renewed').length >= 5 * keys.length, { within: 20_000 });
    expect(renewedKeys()).toEqual(new Set(keys));
    expect(handles.map(({ isHeld }) => isHeld)).toEqual([true, true, true, true]);
    expect(locks.told('lost')).toEqual([]);
    expect(notices()).toHaveLength(1);
  });

  it('acquires several keys at once, also with one try', async () => {
    const service = await locks.start(endpoint.url);
    const handle = await service.acquire(['x', 'y', 'z']);
    expect(handle.isHeld).toBe(true);
    await handle.release();
    const tried = await service.tryAcquire(['x', 'y']);
    expect(tried?.isHeld).toBe(true);
    expect(await tried!.release()).toBe(true);
    expect(notices()).toHaveLength(1);
  });

  it('serves semaphores, latches, elections, waiters and the list of locks', async () => {
    const [one, other] = [await locks.start(endpoint.url), await locks.start(endpoint.url)];
    const holder = await one.acquire('k');
    const waiting = other.acquire('k');
    await eventually(async () => (await one.inspect('k'))?.waiters.length === 1);
    await holder.release();
    await (await waiting).release();
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

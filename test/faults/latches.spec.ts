import { startReplica } from '../../lab/testbed/locks/replica-bench.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, throughout } from '../../lab/testbed/wait/eventually.mjs';
import { LockBench, timed } from '../../lab/testbed/locks/locks.js';
import type { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { lockError } from '../../lab/testbed/locks/lock-error.js';

const bench = new LockBench();
const KEY = 'lock:latch:{a}';
const FOR_EVER = { waitTimeout: Infinity };
const LOST = { code: 'LOCK_LATCH_LOST', key: 'a' };

const registeredOn = (server: RedisServer, count = 1): Promise<unknown> =>
  eventually(
    async () =>
      Object.keys(await server.admin.hgetall(KEY)).filter((field) => field.startsWith('client:')).length === count,
    { what: `${count} waiting clients` },
  );

describe('a latch and a failover', () => {
  let master: RedisServer;
  let replica: RedisServer;
  let address: RespProxy;

  beforeAll(() => {
    master = bench.redis;
  });
  afterEach(async () => {
    await replica.stop();
    if (!master.isRunning) await master.start();
    await eventually(async () => (await master.admin.ping()) === 'PONG');
  });
  afterAll(() => replica.stop());

  /** A replica that follows, and a client at an address that leads to the master. */
  async function setUp() {
    replica = await startReplica(master);
    address = await bench.proxy();
    return (await bench.service({ connection: address.url })).getCountDownLatch('a');
  }

  async function failOver(): Promise<void> {
    address.refuse();
    await master.kill();
    await replica.admin.call('REPLICAOF', 'NO', 'ONE');
    address.leadTo(replica);
    await address.accept();
  }

  it('ends the wait with an error if the new master does not know the latch', async () => {
    const latch = await setUp();
    // From here on the replica misses everything.
    await replica.admin.call('REPLICAOF', 'NO', 'ONE');
    await latch.trySetCount(1);
    const waiting = timed(() => latch.await(FOR_EVER));
    await registeredOn(master);
    await failOver();
    expect((await waiting).error).toMatchObject(LOST);
  });

  it('continues with what replicas have confirmed', async () => {
    const latch = await setUp();
    const replicas = { min: 1, timeout: 5_000 };
    expect(await latch.trySetCount(2, { replicas })).toBe(true);
    const waiting = timed(() => latch.await(FOR_EVER));
    await registeredOn(master);
    expect(await latch.countDown({ replicas })).toBe(1);
    await failOver();
    await eventually(async () => (await latch.getCount().catch(() => -1)) === 1, { within: 10_000 });
    expect(await latch.countDown()).toBe(0);
    expect(await waiting).toMatchObject({ value: true });
  });

  it('counts as opened if replicas have confirmed the last count-down', async () => {
    const latch = await setUp();
    const replicas = { min: 1, timeout: 5_000 };
    await latch.trySetCount(1);
    const far = (await bench.service({ connection: address.url })).getCountDownLatch('a');
    const waiting = timed(() => far.await(FOR_EVER));
    await registeredOn(master);
    address.dropPushes();
    expect(await latch.countDown({ replicas })).toBe(0);
    await failOver();
    expect(await waiting).toMatchObject({ value: true });
  });

  it('reports too few confirmations, and what has happened on the master', async () => {
    const latch = await setUp();
    const replicas = { min: 1, timeout: 200 };
    await replica.pause();
    const set = await timed(() => latch.trySetCount(2, { replicas }));
    expect(set.error).toEqual(lockError('LOCK_STORE', /0 of at least 1/, { key: 'a' }));
    expect(await latch.getCount()).toBe(2);
    const counted = await timed(() => latch.countDown({ replicas }));
    expect(counted.error).toMatchObject({ code: 'LOCK_STORE', key: 'a' });
    expect(await latch.getCount()).toBe(1);
    // Where there was nothing to write there is nothing to wait for.
    expect(await latch.trySetCount(2, { replicas })).toBe(false);
    await latch.countDown();
    expect(await latch.countDown({ replicas })).toBe(0);
    await replica.resume();
  });
});

it('a count-down whose reply was lost counts once, however long the network is away', async () => {
  const commandTimeout = 400;
  const { proxy, service } = await bench.proxied({ commandTimeout });
  const near = (await bench.service()).getCountDownLatch('job');
  const far = service.getCountDownLatch('job');
  await near.trySetCount(1);
  await near.countDown();
  expect(await near.trySetCount(2)).toBe(true);
  await eventually(async () => (await far.getCount()) >= 0);
  const cut = proxy.cutAfterCommand(({ name }) => name === 'eval' || name === 'evalsha');
  proxy.refuse();
  const counting = far.countDown().catch((error: Error) => error.message);
  await cut.happened;
  await counting;
  // The script may not be known yet: then this was its first try, and the second is sent later.
  await sleep(4 * commandTimeout);
  const before = await near.getCount();
  await proxy.accept();
  await eventually(async () => (await far.getCount()) >= 0);
  await throughout(300, async () => (await near.getCount()) === before);
});

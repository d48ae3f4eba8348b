import { jest } from '@jest/globals';
import { createSentinel } from 'redis';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import type { RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { SentinelBench } from '../../../lab/testbed/locks/sentinel-bench.js';
import { expectHandoff, redisKey, useOf, SOON } from '../../../lab/testbed/locks/locks.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

type Options = Partial<Parameters<typeof createSentinel>[0]>;
type Sentinel = ReturnType<typeof createSentinel>;

/** How long an outage may take: Sentinels may have to try a second time. */
const OUTAGE = { commandTimeout: '15s', renewedLease: 3_000 } as const;

const clients: Sentinel[] = [];

// node-redis 5 prints what it meets during a failover.
beforeEach(() => void jest.spyOn(console, 'log').mockImplementation(() => undefined));
afterEach(() => Promise.all(clients.splice(0).map((client) => client.destroy())));
const bench = new SentinelBench();
afterEach(() => void jest.restoreAllMocks());

function sentinelClient(options: Options = {}): Sentinel {
  const { name, sentinels: sentinelRootNodes } = bench.sentinels.connection;
  const client: Sentinel = createSentinel({ name, sentinelRootNodes, ...options });
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

async function connected(options?: Options): Promise<Sentinel> {
  const client = sentinelClient(options);
  await client.connect();
  return client;
}

/** Ends the connections of clients, and not those of the Sentinels, which would take the master for dead. */
async function disconnectClients({ admin }: RedisServer): Promise<void> {
  const own = await admin.call('CLIENT', 'ID');
  for (const line of String(await admin.call('CLIENT', 'LIST', 'TYPE', 'normal'))
    .trim()
    .split('\n')) {
    const id = /^id=(\d+)/.exec(line)![1]!;
    if (!line.includes(' name=sentinel-') && id !== String(own)) await admin.call('CLIENT', 'KILL', 'ID', id);
  }
}

/** `npm run test:clients` runs the failovers of test/integration/sentinel with such clients. */
describe('a Sentinel client of node-redis that the application passes in', () => {
  it('leads to the master, and stays as it was when the module ends', async () => {
    const own = await connected();
    const listening = own.eventNames();
    const [one, other] = [await bench.service({ connection: own }), await bench.service()];
    const lock = await other.acquire('a');
    expect(await one.tryAcquire('a')).toBeNull();
    const waiting = one.acquire('a', { replicas: { min: 1, timeout: '2s' } });
    await bench.untilWaiting('a', 1);
    await expectHandoff(lock, waiting, SOON);
    await bench.close();
    expect(own.eventNames()).toEqual(listening);
    expect(await own.ping()).toBe('PONG');
  });

  it('may connect later: until then, a start says why it fails, and calls wait', async () => {
    const own = sentinelClient();
    const service = bench.make({ connection: own, commandTimeout: 300 });
    await expect(service.start()).rejects.toEqual(lockError('LOCK_STORE', 'is not connected: call its connect()'));
    const later = bench.make({ ...OUTAGE, connection: own });
    const starting = later.start();
    const lock = later.acquire('a');
    await own.connect();
    await starting;
    expect(await (await lock).release()).toBe(true);
    await eventually(() => useOf(service, 'a').then(() => true));
  });

  it('may lend all of its connections, except while the module connects for the first time', async () => {
    const own = await connected();
    const lease = await own.acquire();
    const service = bench.make({ connection: own, commandTimeout: 500 });
    await expect(service.start()).rejects.toThrow(/has no free connection.*release one/);
    await lease.release();
    await eventually(() => useOf(service, 'a').then(() => true));
    const again = await own.acquire();
    const { admin } = await bench.sentinels.master();
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await useOf(service, 'a');
    await again.release();
    expect(await own.ping()).toBe('PONG');
  });

  it('may keep a connection for itself', async () => {
    await useOf(await bench.service({ connection: await connected({ reserveClient: true }) }), 'a');
  });

  it('loses no connection of its pool', async () => {
    const own = await connected({ masterPoolSize: 2 });
    const service = bench.make({ connection: own });
    await Promise.all([useOf(service, 'a'), own.ping()]);
    const leases: Array<Awaited<ReturnType<Sentinel['acquire']>>> = [];
    for (let i = 0; i < 2; i++) void own.acquire().then((lease) => leases.push(lease));
    await eventually(() => leases.length === 2);
    for (const lease of leases) await lease.release();
  });

  it('may be destroyed: locks last as long as the connections of the module', async () => {
    const own = await connected();
    const service = await bench.service({ connection: own, commandTimeout: 1_000 });
    const lock = await service.acquire('a');
    await own.destroy();
    await useOf(service, 'b');
    await lock.verify();
    await disconnectClients(await bench.sentinels.master());
    await expect(service.acquire('b')).rejects.toEqual(
      lockError('LOCK_STORE', 'is not connected: call its connect()', { transient: true }),
    );
    await own.connect();
    await eventually(() => lock.verify().then(() => true));
    expect(await lock.release()).toBe(true);
  });

  it('lends its login and its map of addresses', async () => {
    const master = await bench.sentinels.master();
    await using proxy = await RespProxy.start(master);
    await master.admin.acl('SETUSER', 'app', 'on', '>secret', '+@all', '~*', '&*');
    const own = await connected({
      nodeClientOptions: { username: 'app', password: 'secret' },
      nodeAddressMap: { [`${master.host}:${master.port}`]: { host: proxy.host, port: proxy.port } },
    });
    const acquired = proxy.seen({ names: ['evalsha', 'eval'] });
    await useOf(await bench.service({ connection: own }), 'a');
    await acquired;
    const list = String(await master.admin.client('LIST'));
    // Its own client has one connection for commands, and one for subscriptions if there are any.
    expect(list.match(/user=app /g)!.length).toBeGreaterThanOrEqual(3);
  });

  it('its only Sentinel restarts, and announces no later failover: the old master is left when it is a replica', async () => {
    const own = await connected();
    const service = await bench.service({ ...OUTAGE, connection: own });
    const { watcher } = bench.sentinels;
    await watcher.kill();
    const trace: string[] = [];
    own.setTracer(trace);
    await watcher.start();
    // node-redis has asked it, and does not subscribe again to a Sentinel of the same address.
    await eventually(() => trace.includes('transform: exit'), { within: 10_000 });
    const old = await bench.sentinels.master();
    await bench.sentinels.failover();
    await eventually(async () => !(await old.isMaster()), { within: 60_000 });
    await useOf(service, 'a');
    const lock = await service.acquire('a');
    expect(await (await bench.sentinels.master()).admin.exists(redisKey('state', 'a'))).toBe(1);
    expect(await lock.release()).toBe(true);
  });
});

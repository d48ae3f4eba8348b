import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LockService } from '../../lib/service/lock.service.js';
import type { LockConnectionOption } from '../../lib/module/redis-lock.connection.js';
import { ClusterProxies } from '../../testbed/proxies/cluster-proxies.js';
import { eventually } from '../../testbed/wait/eventually.mjs';
import { blockEventLoop, FaultLocks, nothingLeftBehind, redisKey } from '../../testbed/locks/fault-locks.js';
import { startRedisCluster } from '../../testbed/servers/redis-cluster.mjs';
import { startRedisSentinels } from '../../testbed/servers/redis-sentinels.mjs';
import { startRedis, type RedisServer } from '../../testbed/servers/redis-server.mjs';
import { RespProxy, type ConnectionFilter } from '../../testbed/proxies/resp-proxy.mjs';
import { RunningTime } from '../../testbed/wait/running-time.mjs';

const LISTENING: ConnectionFilter = ({ isSubscriber }) => isSubscriber;
/** How long after a subscriber went deaf service is normal again. */
const NORMAL_WITHIN = 15_000;
/** What a client that is served in turn does many times over in `WINDOW` ms, and one that is not does not. */
const SECTIONS = 5;
const WINDOW = 500;
/** A subscriber that has been silent for so long would have been found out, in ms. */
const LONGEST_SILENCE = 8_000;

/** One way to Redis, past proxies or through proxies of its own. */
interface Topology {
  readonly near: LockConnectionOption;
  /** Proxies for one client, and its way through them. */
  far(): Promise<{ readonly connection: LockConnectionOption; readonly proxies: readonly RespProxy[] }>;
  stop(): Promise<unknown>;
}

const topologies: Record<string, () => Promise<Topology>> = {
  'one server': async () => {
    const redis = await startRedis();
    return {
      near: redis.url,
      far: async () => {
        const proxy = await RespProxy.start(redis);
        return { connection: proxy.url, proxies: [proxy] };
      },
      stop: () => redis.stop(),
    };
  },
  'servers behind Sentinels': async () => {
    const sentinels = await startRedisSentinels();
    return {
      near: sentinels.connection,
      far: async () => {
        const proxies = await Promise.all(sentinels.servers.map((server) => RespProxy.start(server)));
        const natMap = Object.fromEntries(
          sentinels.servers.map(({ host, port }, i) => [`${host}:${port}`, { host, port: proxies[i]!.port }]),
        );
        return { connection: { ...sentinels.connection, natMap }, proxies };
      },
      stop: () => sentinels.stop(),
    };
  },
  'a Cluster': async () => {
    const cluster = await startRedisCluster();
    return {
      near: { cluster: cluster.addresses },
      far: async () => {
        const proxies = await ClusterProxies.start(cluster);
        return { connection: proxies.connection, proxies: proxies.all };
      },
      stop: () => cluster.stop(),
    };
  },
  'masters of a Redlock': async () => {
    const masters = await Promise.all([startRedis(), startRedis(), startRedis()]);
    return {
      near: masters.map(({ url }) => url),
      far: async () => {
        const proxies = await Promise.all(masters.map((master) => RespProxy.start(master)));
        return { connection: proxies.map(({ url }) => url), proxies };
      },
      stop: () => Promise.all(masters.map((master) => master.stop())),
    };
  },
};

/** A client that takes a lock again and again until it is told to stop, and counts. */
class Taker {
  private readonly ends: number[] = [];
  private isOver = false;
  private readonly running: Promise<void>;

  constructor(service: LockService, key: string) {
    this.running = this.run(service, key);
  }

  /** How many sections have ended since, by `performance.now()`. */
  since(moment: number): number {
    return this.ends.filter((end) => end >= moment).length;
  }

  stop(): Promise<void> {
    this.isOver = true;
    return this.running;
  }

  private async run(service: LockService, key: string): Promise<void> {
    while (!this.isOver) {
      await service.run(key, () => sleep(1), { waitTimeout: 60_000 });
      this.ends.push(performance.now());
    }
  }
}

/** Resolves when all of them are served in turn. */
const untilServed = (takers: readonly Taker[], within: number): Promise<unknown> =>
  eventually(() => takers.every((taker) => taker.since(performance.now() - WINDOW) >= SECTIONS), {
    within,
    every: 50,
    what: 'service as usual',
  });

describe.each(Object.entries(topologies))('with %s', (_name, start) => {
  let topology: Topology;
  const locks = new FaultLocks();
  const open: RespProxy[] = [];
  beforeAll(async () => {
    topology = await start();
  });
  afterEach(async () => {
    await locks.closeAll();
    await Promise.all(open.splice(0).map((proxy) => proxy.close()));
  });
  afterAll(() => topology.stop());

  /** How many ms it takes until service is normal, after a subscriber of its own went deaf. */
  async function untilNormal(key: string, serverNotices: boolean): Promise<number> {
    const { connection, proxies } = await topology.far();
    open.push(...proxies);
    const [near, far] = [await locks.start(topology.near), await locks.start(connection)];
    const takers = [new Taker(near, key), new Taker(far, key)];
    try {
      await untilServed(takers, 5_000);
      for (const proxy of proxies) proxy.goDeaf(LISTENING, { serverNotices });
      const time = new RunningTime();
      // What was served just before must not count.
      await sleep(WINDOW);
      await untilServed(takers, NORMAL_WITHIN);
      const { ran } = time.stop();
      await eventually(async () => (await far.health()).subscribed, { within: NORMAL_WITHIN - ran });
      return ran;
    } finally {
      await Promise.all(takers.map((taker) => taker.stop()));
    }
  }

  it('service is normal soon after a subscriber went deaf, whether or not the server has noticed', async () => {
    const [noticed, unnoticed] = await Promise.all([untilNormal('noticed', true), untilNormal('unnoticed', false)]);
    expect(noticed).toBeLessThan(NORMAL_WITHIN);
    expect(unnoticed).toBeLessThan(NORMAL_WITHIN);
  });
});

describe('on one server', () => {
  const locks = new FaultLocks();
  let redis: RedisServer;
  let proxy: RespProxy;
  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(async () => {
    await redis.admin.flushall();
    proxy = await RespProxy.start(redis);
  });
  afterEach(async () => {
    await redis.resume();
    await locks.closeAll();
    await proxy.close();
  });
  afterAll(() => redis.stop());

  const untilWaiting = (key: string): Promise<unknown> =>
    eventually(async () => (await redis.admin.zcard(redisKey('queue', key))) === 1, { what: 'a waiter' });
  /** The connections that listen through the proxy and pass on what they hear. */
  const listening = (): number[] => proxy.openConnections.filter(LISTENING).map(({ id }) => id);
  /** Why subscriptions were left. */
  const reasons = (): string[] =>
    locks.lines.filter(({ level }) => level === 'error').map(({ text }) => text.replace(/^.*retrying: /, ''));
  const isSubscribed = async (service: LockService): Promise<boolean> => (await service.health()).subscribed;

  it('a waiter learns from the answer that grants it a place that nobody listens for it', async () => {
    const [near, far] = [await locks.start(redis.url), await locks.start(proxy.url)];
    const lock = await near.acquire('a');
    const [before] = listening();
    proxy.goDeaf(LISTENING, { serverNotices: true });
    await eventually(async () => (await redis.admin.pubsub('CHANNELS', 'lock:client:*')).length === 1);
    // Until then nobody knows. No new connection comes about until health has been seen to know.
    expect(await isSubscribed(far)).toBe(true);
    proxy.refuse();
    const waiting = far.acquire('a');
    await untilWaiting('a');
    await eventually(async () => !(await isSubscribed(far)), { what: 'health that knows' });
    await proxy.accept();
    await eventually(() => isSubscribed(far), { within: 5_000 });
    expect(listening().at(-1)).toBeGreaterThan(before!);
    expect(reasons()[0]).toBe('the server sees no subscriber on the channel of this client');
    expect(await lock.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
    await nothingLeftBehind(redis);
  });

  /** It asks every 500 ms, so within the first lease of a grant that it does not hear of. */
  const ASKS_OFTEN = { lockWatchdogTimeout: 1_500, grantTimeout: 1_000 };

  it('a waiter learns from a grant that it finds by asking that its messages do not come', async () => {
    const [near, far] = [await locks.start(redis.url), await locks.start(proxy.url, ASKS_OFTEN)];
    const lock = await near.acquire('a');
    const waiting = far.acquire('a');
    await untilWaiting('a');
    proxy.goDeaf(LISTENING, { serverNotices: false });
    expect(await lock.release()).toBe(true);
    const next = await waiting;
    await eventually(() => reasons().length > 0, { what: 'a doubt' });
    await eventually(() => isSubscribed(far), { within: 5_000 });
    expect(reasons()).toEqual(['the message about a granted lock did not arrive']);
    expect(await next.release()).toBe(true);
    await nothingLeftBehind(redis);
  });

  it('a message that comes behind the answer is no sign of a deaf subscriber', async () => {
    const [near, far] = [await locks.start(redis.url), await locks.start(proxy.url, ASKS_OFTEN)];
    const before = listening();
    const lock = await near.acquire('a');
    const waiting = far.acquire('a');
    await untilWaiting('a');
    proxy.holdReplies(LISTENING);
    expect(await lock.release()).toBe(true);
    const next = await waiting;
    proxy.heal();
    // For longer than a message is waited for.
    await sleep(1_000);
    expect([reasons(), listening()]).toEqual([[], before]);
    expect(await next.release()).toBe(true);
  });

  it('a frozen Redis, a process that is held up and a refused PING leave subscriptions as they are', async () => {
    await redis.admin.acl('SETUSER', 'silent', 'on', '>secret', '~*', '&*', '+@all', '-ping');
    const services = [await locks.start(redis.url), await locks.start(redis.url.replace('//', '//silent:secret@'))];
    const clients = async (): Promise<string[]> =>
      [...String(await redis.admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).matchAll(/^id=(\d+)/gm)].map(([id]) => id);
    const before = await clients();
    expect(before).toHaveLength(2);
    // Each for longer than it takes to find out a deaf one.
    await redis.pause();
    await sleep(LONGEST_SILENCE);
    await redis.resume();
    await sleep(LONGEST_SILENCE);
    blockEventLoop(LONGEST_SILENCE);
    await sleep(2_000);
    expect(await clients()).toEqual(before);
    expect(reasons()).toEqual([]);
    for (const service of services) expect(await isSubscribed(service)).toBe(true);
  });

  it('does not subscribe to a replica, and follows its address to the master', async () => {
    await using replica = await startRedis({ args: ['--replicaof', redis.host, String(redis.port)] });
    await eventually(async () => /master_link_status:up/.test(await replica.admin.info('replication')), {
      within: 10_000,
    });
    const far = await locks.start(proxy.url);
    proxy.leadTo(replica);
    proxy.cutAll(LISTENING);
    await eventually(() => reasons().some((reason) => reason.includes('leads to a replica')), { within: 5_000 });
    expect(await isSubscribed(far)).toBe(false);
    expect(await replica.admin.pubsub('CHANNELS', 'lock:client:*')).toEqual([]);
    proxy.leadTo(redis);
    await eventually(() => isSubscribed(far), { within: 5_000 });
    expect(await redis.admin.pubsub('CHANNELS', 'lock:client:*')).toHaveLength(1);
  });

  it('learns that it is subscribed to a replica where it may not ask, and follows its address', async () => {
    await using replica = await startRedis({ args: ['--replicaof', redis.host, String(redis.port)] });
    for (const server of [redis, replica]) {
      await server.admin.acl('SETUSER', 'blind', 'on', '>secret', '~*', '&*', '+@all', '-info');
    }
    const [near, far] = [await locks.start(redis.url), await locks.start(proxy.url.replace('//', '//blind:secret@'))];
    const lock = await near.acquire('a');
    proxy.leadTo(replica);
    proxy.cutAll(LISTENING);
    await eventually(async () => (await replica.admin.pubsub('CHANNELS', 'lock:client:*')).length === 1, {
      within: 5_000,
    });
    proxy.leadTo(redis);
    const waiting = far.acquire('a');
    await eventually(async () => (await redis.admin.pubsub('CHANNELS', 'lock:client:*')).length === 2, {
      within: 5_000,
    });
    expect(await lock.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
    await nothingLeftBehind(redis);
  });
});

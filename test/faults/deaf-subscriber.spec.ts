import { detours } from '../../lab/testbed/proxies/detours.mjs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LockService, LockConnectionOption } from 'nestjs-redis-locks';
import { ClusterProxies } from '../../lab/testbed/proxies/cluster-proxies.js';
import { AT_ONCE, eventually, startRedis, RespProxy } from '../../lab/testbed/locks/locks.js';
import { startRedisCluster } from '../../lab/testbed/servers/redis-cluster.mjs';
import { startRedisSentinels } from '../../lab/testbed/servers/redis-sentinels.mjs';
import { type ConnectionFilter } from '../../lab/testbed/proxies/resp-proxy.mjs';
import { overlapping } from '../../lab/testbed/wait/overlapping.js';
import { RunningTime } from '../../lab/testbed/wait/running-time.mjs';
import { LockServices } from '../../lab/testbed/locks/lock-services.js';

const LISTENING: ConnectionFilter = ({ isSubscriber }) => isSubscriber;
/** How long after a subscriber went deaf service is normal again. */
const NORMAL_WITHIN = 15_000;
/** How long after a subscriber went deaf its client's health says so, as the page on operations promises. */
const NOTICED_WITHIN = 8_000;
/**
 * The sections that a client served in turn completes in `WINDOW` ms, also on a busy machine; a client that has to ask
 * completes one in 3 s.
 */
const SECTIONS = 3;
const WINDOW = 1_500;

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
        const natMap = detours(sentinels.servers, proxies);
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

/** A client that takes a lock again and again until it is stopped, and counts. */
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
  const locks = new LockServices();
  const open: RespProxy[] = [];
  beforeAll(async () => {
    topology = await start();
  });
  afterAll(async () => {
    await running.settled();
    await locks.closeAll();
    await Promise.all(open.map((proxy) => proxy.close()));
    await topology.stop();
  });

  /** How many ms it takes until service is normal, after a subscriber of its own went deaf. */
  async function untilNormal(key: string, serverNotices: boolean): Promise<number> {
    const { connection, proxies } = await topology.far();
    open.push(...proxies);
    const [near, far] = [await locks.start({ connection: topology.near }), await locks.start({ connection })];
    const takers = [new Taker(near, key), new Taker(far, key)];
    try {
      await untilServed(takers, 30_000);
      for (const proxy of proxies) proxy.goDeaf(LISTENING, { serverNotices });
      const time = new RunningTime();
      // Sections that were served just before must not count.
      await sleep(WINDOW);
      await untilServed(takers, NORMAL_WITHIN);
      const { ran } = time.stop();
      await eventually(async () => (await far.health()).subscribed, { within: NORMAL_WITHIN });
      return ran;
    } finally {
      await Promise.all(takers.map((taker) => taker.stop()));
    }
  }

  async function expectNormalService(): Promise<void> {
    const [noticed, unnoticed] = await Promise.all([untilNormal('noticed', true), untilNormal('unnoticed', false)]);
    expect(noticed).toBeLessThan(NORMAL_WITHIN);
    expect(unnoticed).toBeLessThan(NORMAL_WITHIN);
  }

  async function expectTrueHealth(): Promise<void> {
    const { connection, proxies } = await topology.far();
    open.push(...proxies);
    const far = await locks.start({ connection });
    await eventually(async () => (await far.health()).subscribed);
    for (const proxy of proxies) {
      proxy.goDeaf(LISTENING, { serverNotices: false });
      // The next subscription is not confirmed: otherwise it could stand again between two looks.
      proxy.holdReplies(LISTENING);
    }
    const time = new RunningTime();
    await eventually(async () => !(await far.health()).subscribed, { within: NORMAL_WITHIN, every: 20 });
    expect(time.stop().ran).toBeLessThan(NOTICED_WITHIN + AT_ONCE);
    expect(await far.health()).toMatchObject({ reachable: true, subscribed: false });
    await Promise.all(proxies.map((proxy) => proxy.restore()));
    await eventually(async () => (await far.health()).subscribed, { within: NORMAL_WITHIN });
  }

  // Both mostly wait, and each has clients and proxies of its own.
  const running = overlapping([expectNormalService, expectTrueHealth], 2);
  it('waiters are served normally soon after a subscription died, whether or not the server has noticed', () =>
    running.run(0));
  it('health does not report a deaf subscriber as subscribed for longer than 8 s, with no waiter to notice', () =>
    running.run(1));
});

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { FaultLocks, keysWithTtl, nothingLeftBehind, redisKey } from '../../lab/testbed/locks/fault-locks.js';
import { assertNoViolation } from '../../lab/testbed/history/history.js';
import { startWorker, type WorkerProcess } from '../../lab/testbed/workers/processes.mjs';
import { random, startRandomSections, type SectionsReport } from '../../lab/testbed/workers/random-sections.mjs';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import type { ProxiedConnection } from '../../lab/testbed/proxies/proxied-connection.mjs';
import { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';

/** Seconds of faults; more by the environment: FAULT_SECONDS=600 FAULT_SEED=42 npx jest test/faults/random */
const SECONDS = Number(process.env['FAULT_SECONDS'] ?? 12);
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
const WORKER = new URL('../../lab/testbed/workers/random-sections-worker.mjs', import.meta.url);
const OPTIONS = { renewedLease: 400, commandTimeout: 600, grantTimeout: 250, shutdownTimeout: 0 };
const KEYS = ['a', 'b', 'c'];

it(
  `valid locks never overlap, tokens grow and every waiter gets a result, whatever happens (seed ${SEED})`,
  async () => {
    const next = random(SEED);
    const among = <T>(things: readonly T[]): T => things[Math.floor(next() * things.length)]!;
    const locks = new FaultLocks();
    const redis = await startRedis();
    const proxies: RespProxy[] = [];
    const workers: WorkerProcess[] = [];
    const happened: Record<string, number> = {};
    const reports: SectionsReport[] = [];
    try {
      for (let i = 0; i < 5; i++) proxies.push(await RespProxy.start(redis));
      const services = await Promise.all(proxies.slice(0, 3).map(({ url }) => locks.start(url, OPTIONS)));
      const sections = services.map((service, i) =>
        startRandomSections(service, { who: `service-${i}`, seed: SEED + i, keys: KEYS, loops: 3 }),
      );
      for (let i = 3; i < 5; i++) {
        const worker = await startWorker(WORKER);
        workers.push(worker);
        const connection = proxies[i]!.url;
        await worker.call(
          'start',
          { ...OPTIONS, connection },
          { who: `worker-${i}`, seed: SEED + i, keys: KEYS, loops: 3 },
        );
      }

      const withoutTtl: string[] = [];
      let sampling = true;
      const sampler = (async () => {
        while (sampling) {
          for (const { key, ttl } of await keysWithTtl(redis)) if (ttl < 0) withoutTtl.push(key);
          await sleep(30);
        }
      })();

      await injectFaults({
        until: performance.now() + SECONDS * 1_000,
        next,
        among,
        redis,
        proxies,
        workers,
        happened,
      });

      for (const proxy of proxies) {
        proxy.heal();
        await proxy.accept();
      }
      sampling = false;
      await sampler;
      await Promise.all([...sections.map((each) => each.stop()), ...workers.map((worker) => worker.call('stop'))]);
      for (const each of sections) reports.push(each.report());
      for (const worker of workers) {
        const report = await worker.call<SectionsReport & { escaped: string[] }>('report');
        expect(report.escaped).toEqual([]);
        reports.push(report);
      }

      const holds = reports.flatMap((report) => report.holds);
      const outcomes: Record<string, number> = {};
      for (const report of reports) {
        for (const [outcome, count] of Object.entries(report.outcomes))
          outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
      }
      if (process.env['FAULT_SECONDS'] !== undefined) {
        process.stdout.write(`seed ${SEED}: ${holds.length} holds, ${JSON.stringify({ outcomes, happened })}\n`);
      }
      assertNoViolation(holds);
      expect(reports.flatMap(({ surprises }) => surprises)).toEqual([]);
      expect(reports.flatMap(({ late }) => late)).toEqual([]);
      expect(reports.map(({ pending }) => pending)).toEqual(reports.map(() => 0));
      expect(withoutTtl).toEqual([]);
      // It was a run worth looking at.
      expect(holds.length).toBeGreaterThan(SECONDS * 5);
      for (const key of KEYS)
        expect(new Set(holds.filter((hold) => hold.key === key).map(({ who }) => who.split(' ')[0])).size).toBe(5);

      const fresh = await locks.start(redis.url);
      for (const key of KEYS) expect(await (await fresh.acquire(key, { waitTimeout: 20_000 })).release()).toBe(true);
      await nothingLeftBehind(redis);
    } finally {
      for (const worker of workers) await worker.kill();
      await locks.closeAll();
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await redis.stop();
    }
  },
  (SECONDS + 240) * 1_000,
);

interface Surroundings {
  until: number;
  next: () => number;
  among: <T>(things: readonly T[]) => T;
  redis: RedisServer;
  proxies: RespProxy[];
  workers: WorkerProcess[];
  happened: Record<string, number>;
}

/** Faults of each client's network, one after the other for each client, and beside them faults that concern all. */
async function injectFaults({ until, next, among, redis, proxies, workers, happened }: Surroundings): Promise<void> {
  const some = (): ((connection: ProxiedConnection) => boolean) => {
    const [subscribers, all] = [next() < 0.4, next() < 0.3];
    return ({ isSubscriber }) => all || isSubscriber === subscribers;
  };
  const ofNetworks: Record<string, (proxy: RespProxy) => void> = {
    cutAfter: (proxy) => void proxy.cutAfterCommand(1 + Math.floor(next() * 5)),
    cutBefore: (proxy) => void proxy.cutBeforeCommand(1 + Math.floor(next() * 5)),
    cutAll: (proxy) => proxy.cutAll(some()),
    dropReplies: (proxy) => proxy.dropReplies(some()),
    dropRequests: (proxy) => proxy.dropRequests(some()),
    holdReplies: (proxy) => proxy.holdReplies(some()),
    holdPushes: (proxy) => proxy.holdReplies(({ isSubscriber }) => isSubscriber),
    holdRequests: (proxy) => proxy.holdRequests(some()),
    dropPushes: (proxy) => proxy.dropPushes(() => next() < 0.7),
    repeatPushes: (proxy) => proxy.repeatPushes(() => next() < 0.7),
    delay: (proxy) => proxy.delay({ request: () => next() * 80, reply: () => next() * 80 }),
    refuse: (proxy) => {
      proxy.refuse();
      proxy.cutAll(some());
    },
  };
  const ofAll: Record<string, () => unknown> = {
    flushScripts: () => redis.admin.script('FLUSH', 'SYNC'),
    killSubscribers: () => redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'),
    pauseClients: () => redis.admin.client('PAUSE', Math.round(next() * 400), 'ALL'),
    stopServer: async () => {
      await redis.pause();
      await sleep(next() * 400);
      await redis.resume();
    },
    stopWorker: async () => {
      const worker = among(workers);
      worker.pause();
      await sleep(next() * 900);
      worker.resume();
    },
    blockWorker: () => among(workers).call('block', Math.round(next() * 700)),
    evictQueue: () => redis.admin.del(redisKey(among(['queue', 'waiters'] as const), among(KEYS))),
  };
  const count = (name: string): void => void (happened[name] = (happened[name] ?? 0) + 1);

  const networks = proxies.map(async (proxy) => {
    while (performance.now() < until) {
      const name = among(Object.keys(ofNetworks));
      count(name);
      ofNetworks[name]!(proxy);
      await sleep(next() < 0.5 ? next() * 150 : next() * 900);
      proxy.heal();
      await proxy.accept();
      await sleep(next() * 400);
    }
  });
  const all = async (): Promise<void> => {
    while (performance.now() < until) {
      const name = among(Object.keys(ofAll));
      count(name);
      await ofAll[name]!();
      await sleep(next() * 700);
    }
  };
  await Promise.all([...networks, all()]);
  await eventually(() => redis.admin.ping(), { within: 5_000 });
}

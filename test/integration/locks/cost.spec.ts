import { inTurn, LockBench } from '../../../lab/testbed/locks/locks.js';
import type { LockWorker, RemoteHandle } from '../../../lab/testbed/workers/lock-process.js';
import { countReachable } from '../../../lab/testbed/history/reachable.js';

const bench = new LockBench();

/** Nothing falls due by itself while a test counts. */
const QUIET = { renewedLease: '10m', grantTimeout: '10m' } as const;
/** The test's own commands, the cost of connecting, and the heartbeats of subscribed connections. */
const NOT_OURS = /^(config\|resetstat|info|keys|scan|zrange|pttl|client\|setinfo|hello|subscribe|ping)$/;
/** The commands that scripts call. `PUBLISH` is one of them, and counted. */
const OF_SCRIPTS = /^(time|exists|get|set|del|h\w+|z\w+|p?expire|pexpireat|pttl|pubsub\|numsub)$/;

/** The commands that clients have sent since the statistics were reset, and the messages that scripts have. */
async function calls(): Promise<Record<string, number>> {
  const all = Object.entries(await bench.redis.commandStats());
  return Object.fromEntries(all.filter(([name]) => !NOT_OURS.test(name) && !OF_SCRIPTS.test(name)));
}

interface Arrival {
  worker: LockWorker;
  i: number;
  handle: RemoteHandle;
}

/** The next service of a worker that is in, with its handle; none when the worker ends. */
function arrivalAt(worker: LockWorker, i: number): Promise<Arrival> {
  const message = worker.process.next(({ event }) => event === 'acquired', Infinity);
  const arrival = message.then((handle) => ({ worker, i, handle: handle as unknown as RemoteHandle }));
  return arrival.catch(() => new Promise(() => undefined));
}

describe('the cost of a lock', () => {
  it('uncontended, by run and by a Lock object: two commands', async () => {
    const service = await bench.service();
    await (await service.acquire('warm')).release();
    await bench.redis.resetCommandStats();
    await service.run('a', () => undefined);
    expect(await calls()).toEqual({ evalsha: 2 });
    const lock = service.getLock('a');
    await lock.tryLock();
    await lock.unlock();
    expect(await calls()).toEqual({ evalsha: 4 });
  });

  it('several fair callers in one client: two commands each, also during a release', async () => {
    const service = await bench.service(QUIET);
    await (await service.acquire('warm')).release();
    await bench.redis.resetCommandStats();
    const loop = async (): Promise<void> => {
      for (let i = 0; i < 25; i++) await service.run('a', () => undefined, { fair: true, waitTimeout: Infinity });
    };
    await Promise.all(Array.from({ length: 8 }, loop));
    const { evalsha } = await calls();
    expect(evalsha).toBe(2 * 8 * 25);
  });

  it('a refusal: the same CPU time with 20,000 holds in the process as with a few', async () => {
    const [service, other] = await bench.pair({ store: 'memory', ...QUIET });
    const refusals = async (): Promise<number> => {
      const before = process.cpuUsage();
      for (let i = 0; i < 300; i++) expect(await service.tryAcquire('taken')).toBeNull();
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await other.acquire('taken');
    await refusals();
    const few = await refusals();
    await Promise.all(Array.from({ length: 20_000 }, (_, i) => service.acquire(`other:${i}`)));
    // So many objects may be collected meanwhile, which counts, too.
    let least = Infinity;
    for (let i = 0; i < 10 && least >= 5 * few; i++) least = Math.min(least, await refusals());
    expect(least).toBeLessThan(5 * few);
  });

  const handoffs = [
    { of: '2 waiting processes', workers: 2, services: 1 },
    { of: '40 clients in 4 waiting processes', workers: 4, services: 10 },
  ];
  it.each(handoffs)('a handoff among $of: one EVALSHA and one message', async ({ workers: count, services }) => {
    const holder = await bench.service(QUIET);
    const lock = await holder.acquire('a');
    const workers = await Promise.all(Array.from({ length: count }, () => bench.worker(QUIET, services)));
    await workers[0]!.sections({ key: 'warm', times: 1 });
    for (const { process } of workers) await process.call('acquireEach', 'a', { waitTimeout: Infinity });
    await bench.untilWaiting('a', count * services);

    const arrivals = workers.map(arrivalAt);
    let release = () => lock.release();
    for (let handoff = 0; handoff < 2; handoff++) {
      await bench.redis.resetCommandStats();
      await release();
      const { worker, i, handle } = await Promise.race(arrivals);
      arrivals[i] = arrivalAt(worker, i);
      expect(await calls()).toEqual({ evalsha: 1, publish: 1 });
      release = () => worker.release(handle);
    }
  });
});

it('many keys, one after the other leave nothing behind in the process', async () => {
  const [service, other] = [await bench.service(), await bench.service()];
  const use = async (from: number) => {
    for (let i = from; i < from + 400; i++) {
      const key = `key:${i}`;
      await service.run(key, () =>
        service
          .getLock(key)
          .lock()
          .then((lock) => lock.release()),
      );
      await service.run(key, () => undefined, { owner: `owner:${i}`, holdAtLeast: 1 });
    }
    const contended = async (i: number) => {
      const lock = await other.acquire(`contended:${i}`);
      const waits = [
        service.run(lock.key, () => undefined),
        service.run(lock.key, () => undefined, { waitTimeout: 5 }),
      ];
      await lock.release();
      await Promise.allSettled(waits);
    };
    await inTurn(40, (i) => contended(from + i));
  };
  await use(0);
  const before = countReachable(service);
  await use(1_000);
  await use(2_000);
  expect(countReachable(service) - before).toBeLessThan(200); // for 1760 more acquisitions
});

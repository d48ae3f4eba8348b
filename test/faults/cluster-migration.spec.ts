import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterProxies } from '../../lab/testbed/proxies/cluster-proxies.js';
import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { startLockWorker } from '../../lab/testbed/workers/lock-process.js';
import { SOON, eventually, throughout } from '../../lab/testbed/locks/locks.js';

const bench = new ClusterBench();
const OPTIONS = { renewedLease: 1_500 };

describe('a slot that moves to another master', () => {
  it('takes the hold along, which is renewed and released there', async () => {
    const [one, other] = await bench.pair(OPTIONS);
    const lock = await one.acquire('a');
    const token = lock.fencingToken;
    await bench.cluster.migrate('a');
    // The first request after the move is sent on to the other master: longer than one try may take.
    await expect(other.acquire('a', { waitTimeout: 1_000 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await throughout(OPTIONS.renewedLease + 300, () => lock.isHeld);
    await lock.verify();
    expect(await lock.release()).toBe(true);
    const next = await other.acquire('a');
    expect(next.fencingToken).toBeGreaterThan(token);
    expect(await next.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('may take long: renewals continue, and other commands follow afterwards', async () => {
    const service = await bench.service(OPTIONS);
    const keys = ['1:{b}', '2:{b}', '3:{b}'];
    const held = await Promise.all(keys.map((key) => service.acquire(key)));
    let released: Promise<boolean> | undefined;
    let taken: Promise<unknown> | undefined;
    await bench.cluster.migrate(keys[0]!, async () => {
      // Of the six keys of a lock some are absent always, so no script that names all of them can run now.
      await sleep(OPTIONS.renewedLease + 300);
      released = held[0]!.release();
      taken = service.acquire('4:{b}', { waitTimeout: '20s' });
      await sleep(200);
    });
    expect(await released).toBe(true);
    await taken;
    for (const lock of held.slice(1)) {
      await lock.verify();
      expect(await lock.release()).toBe(true);
    }
    expect(bench.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });

  it('keeps locks that are handed over while other calls of the same process ask for their keys', async () => {
    const [from, to] = await bench.pair(OPTIONS);
    const keys = Array.from({ length: 12 }, (_, i) => `${i}:{h}`);
    const held = await Promise.all(keys.map((key) => from.acquire(key, { expire: '30s' })));
    let texts: Array<Promise<string>> = [];
    let waiting: Array<Promise<{ release(): Promise<boolean> }>> = [];
    await bench.cluster.migrate(keys[0]!, async () => {
      // Each script is refused for now, and sent again: the two of a key in any order.
      texts = held.map((lock) => lock.handOver('30s'));
      waiting = keys.map((key) => from.acquire(key, { waitTimeout: '20s' }));
      await sleep(200);
    });
    const adopted = await Promise.all(texts.map(async (text) => to.adopt(await text)));
    for (const lock of adopted) await lock.verify();
    expect(await Promise.all(adopted.map((lock) => lock.release()))).toEqual(keys.map(() => true));
    for (const next of await Promise.all(waiting)) expect(await next.release()).toBe(true);
  });

  it('renews the holds of a key that has many, even if their index has moved before them', async () => {
    const service = await bench.service(OPTIONS);
    const held = await Promise.all(Array.from({ length: 10 }, () => service.acquire('g', { permits: 20, fair: true })));
    await bench.cluster.migrate(
      'g',
      () => throughout(OPTIONS.renewedLease + 300, () => held.every(({ isHeld }) => isHeld)),
      /:state:/,
    );
    for (const lock of held) {
      await lock.verify();
      expect(await lock.release()).toBe(true);
    }
    await bench.untilNothingIsLeft();
  });

  it('renews the locks of a slot of which some have moved, and others have not', async () => {
    const service = await bench.service(OPTIONS);
    const held = await Promise.all(['1:{k}', '2:{k}', '3:{k}'].map((key) => service.acquire(key)));
    await bench.cluster.migrate(
      '1:{k}',
      () => throughout(2 * OPTIONS.renewedLease, () => held.every(({ isHeld }) => isHeld)),
      /:state:1:/,
    );
    for (const lock of held) {
      await lock.verify();
      expect(await lock.release()).toBe(true);
    }
    await bench.untilNothingIsLeft();
  });

  it('does not keep an extension from its effect, and no lease counts as valid for longer before', async () => {
    const service = await bench.service();
    const lock = await service.acquire('f', { expire: 20_000 });
    let longer: Promise<void> | undefined;
    await bench.cluster.migrate('f', async () => {
      longer = lock.extend(40_000);
      await lock.verify();
    });
    await longer;
    const stored = await service.inspect('f');
    expect(stored!.ttl).toBeGreaterThan(30_000);
    expect(lock.remainingTime()).toBeGreaterThan(30_000);
    expect(lock.remainingTime()).toBeLessThanOrEqual(stored!.ttl);
    expect(await lock.release()).toBe(true);
  });

  it('keeps its waiters, which receive their grants from its new master', async () => {
    const [one, ...others] = await bench.serviceList(3);
    const lock = await one.acquire('c');
    const { served, all } = await bench.queueUp('c', others);
    for (let times = 0; times < 2; times++) await bench.cluster.migrate('c');
    // Their subscriptions have moved as well.
    const master = await bench.cluster.masterOf('c');
    const heard = async (): Promise<number> =>
      ((await master.admin.call('PUBSUB', 'SHARDCHANNELS', '*{c}*')) as string[]).length;
    await eventually(async () => (await heard()) >= 2, { within: SOON });
    const since = performance.now();
    expect(await lock.release()).toBe(true);
    await all;
    expect(performance.now() - since).toBeLessThan(SOON);
    expect(served).toEqual([0, 1]);
    await bench.untilNothingIsLeft();
  });
});

it('a slow reply from the master to which a slot moves counts', async () => {
  await using proxies = await ClusterProxies.start(bench.cluster);
  const service = await bench.service({ connection: proxies.connection, ...OPTIONS });
  const lock = await service.acquire('m');
  await bench.cluster.migrate('m', async () => {
    // A redirected renewal takes twice as long: longer than a master may be silent without a doubt.
    proxies.all.forEach((proxy) => proxy.delay({ reply: 140 }));
    await throughout(2 * OPTIONS.renewedLease, () => lock.isHeld);
  });
  expect(await lock.release()).toBe(true);
});

it('a connection that breaks while it sends ASKING for a moving slot causes no unhandled rejection', async () => {
  await using proxies = await ClusterProxies.start(bench.cluster);
  const options = { connection: proxies.connection, ...OPTIONS };
  await using worker = await startLockWorker(options, { catchesErrors: true });
  await worker.acquire('f');
  const arriving = proxies.of(await bench.cluster.otherMaster('f'));
  await bench.cluster.migrate('f', async () => {
    arriving.holdReplies();
    // A renewal is sent on to where its key is by now, after an ASKING that gets no answer.
    await sleep(OPTIONS.renewedLease / 2);
    arriving.cutAll();
    arriving.heal();
  });
  expect(await worker.escaped()).toEqual([]);
});

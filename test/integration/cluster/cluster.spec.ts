import { hashSlot } from '../../../lib/keys/index.js';
import { RedisStore } from '../../../lib/store/redis/redis-store.js';
import { StagedStore } from '../../../lib/testing/contract/stage.js';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { COMMANDS, IN_CLUSTER } from '../../../lab/testbed/servers/least-privilege.js';
import { expectHandoff, eventually, SILENT } from '../../../lab/testbed/locks/locks.js';

const bench = new ClusterBench();
let store: RedisStore;

beforeAll(async () => {
  const connection = { cluster: bench.cluster.addresses };
  store = new RedisStore({ connection, keyPrefix: 'lock', commandTimeout: 3_000 }, SILENT);
  await store.start();
});
afterAll(() => store.close());

describe('locks in several slots', () => {
  it('have the slots that Redis computes', async () => {
    const names = ['a', 'order:{42}:pay', 'ä€𝄞', '{}x', 'a{}{b}', '{{x}}', 'lock:client:{a{}:0a1b', 'x'.repeat(500)];
    const slots = await Promise.all(names.map((name) => bench.cluster.nodes[0]!.admin.cluster('KEYSLOT', name)));
    expect(names.map(hashSlot)).toEqual(slots);
  });

  it('are renewed with one command per slot, and answered in the order of the requests', async () => {
    const keys = ['a', 'b', 'c', 'd'].flatMap((tag) => [1, 2, 3, 4, 5].map((n) => `${n}:{${tag}}`)).sort();
    const staged = new StagedStore(store);
    const holds = keys.map((key) => staged.request(key, { lease: 5_000, waits: false }));
    for (const hold of holds) expect((await store.acquire(hold)).outcome).toBe('held');
    await store.release({ key: keys[7]!, id: holds[7]!.id, tombstoneFor: 0, keep: 0, next: undefined });
    // Otherwise a node does not know the script.
    await store.renew(holds.map(({ key, id }) => ({ key, id, lease: 5_000 })));
    await bench.resetStats();
    const replies = await store.renew(holds.map(({ key, id }, i) => ({ key, id, lease: 10_000 + 100 * i })));
    expect(await bench.calls('evalsha')).toBe(4);
    replies.forEach((reply, i) => {
      if (i === 7) expect(reply).toBe('not-held');
      else expect(Math.abs(Number(reply) - (10_000 + 100 * i))).toBeLessThan(50);
    });
  });

  it('are acquired in one step within a slot, otherwise one by one, all or none', async () => {
    const [one, other] = await bench.pair();
    await bench.resetStats();
    const together = await one.acquire(['x:{t}', 'y:{t}', 'z:{t}']);
    expect(await bench.calls('evalsha')).toBe(1);
    expect(await other.tryAcquire(['w:{t}', 'y:{t}'])).toBeNull();
    await together.release();

    const keys = await bench.cluster.keysOnAllMasters('several', 6);
    const apart = await one.acquire(keys);
    expect(apart.fencingTokens.size).toBe(6);
    for (const key of keys) expect(await other.tryAcquire(key)).toBeNull();
    expect(await other.tryAcquire(['free', keys[3]!])).toBeNull();
    const waiting = other.acquire([...keys].reverse());
    await bench.untilWaiting([...keys].sort()[0]!, 1);
    await apart.release();
    const next = await waiting;
    for (const key of keys) expect(next.fencingTokens.get(key)).toBeGreaterThan(apart.fencingTokens.get(key)!);
    await next.release();
    await bench.untilNothingIsLeft();
  });
});

it('tells that a holder which has ended is not connected, whatever node has its subscription', async () => {
  const [observer, other] = [await bench.service(), await bench.service()];
  const [worker] = await bench.workers(1);
  await worker!.acquire('a', { expire: '1m' });
  const connected = async () => (await observer.inspect('a'))!.holders.map((each) => each.connected);
  expect(await connected()).toEqual([true]);
  await worker!.process.kill();
  await eventually(async () => (await connected())[0] === false);
  await other.forceRelease('a');
});

describe('a handoff in a Cluster', () => {
  it('is one command and one message in the slot, and a hot key has one subscription', async () => {
    const [one, other] = await bench.pair();
    for (const [first, second] of [
      [one, other],
      [other, one],
    ]) {
      const { lock, waiting: next } = await bench.contended(first!, second!, { key: 'b' });
      await expectHandoff(lock, next);
    }
    await bench.resetStats();
    let holder = await one.acquire('b');
    const turns = 10;
    for (let i = 0; i < turns; i++) {
      const next = [other, one][i % 2]!.acquire('b');
      await bench.untilWaiting('b', 1);
      await holder.release();
      holder = await next;
    }
    // The first acquire, and for each turn an acquire that waits and a release.
    expect(await bench.calls('evalsha')).toBe(1 + 2 * turns);
    expect(await bench.calls('spublish')).toBe(turns);
    expect(await bench.calls('publish')).toBe(0);
    expect(await bench.calls('ssubscribe')).toBe(0);
    await holder.release();
  });

  it('needs no subscription without waiters', async () => {
    const service = await bench.service();
    await bench.resetStats();
    for (const key of ['c', 'd', 'e']) await (await service.acquire(key)).release();
    expect(await service.tryAcquire('f')).not.toBeNull();
    expect(await service.tryAcquire('f')).toBeNull();
    expect(await bench.calls('ssubscribe')).toBe(0);
  });

  it('drops a channel after some time without waiters, and subscribes again', async () => {
    const [one, other] = await bench.pair({ renewedLease: 600, commandTimeout: 500 });
    const listening = async (key: string): Promise<number> =>
      ((await (await bench.cluster.masterOf(key)).admin.call('PUBSUB', 'SHARDCHANNELS', `*{${key}}*`)) as string[])
        .length;
    for (let times = 0; times < 2; times++) {
      const [lock, kept] = [await one.acquire('h'), await one.acquire('1:{i}')];
      const waiting = [other.acquire('h'), other.acquire('1:{i}')];
      await bench.untilWaiting('h', 1);
      await bench.untilWaiting('1:{i}', 1);
      const since = performance.now();
      await lock.release();
      await (await waiting[0]!).release();
      expect(performance.now() - since).toBeLessThan(2_500);
      await eventually(async () => (await listening('h')) === 0);
      // A caller still waits for this one.
      expect(await listening('i')).toBe(1);
      await kept.release();
      await (await waiting[1]!).release();
    }
  });
});

describe('a Cluster client that the application passes in', () => {
  it('adds its keyPrefix to no key of a lock', async () => {
    const connection = bench.cluster.client({ keyPrefix: 'app:' });
    const service = await bench.service({ connection, keyPrefix: 'app:lock' });
    const lock = await service.acquire('a');
    expect(await bench.cluster.admin.exists('app:lock:state:{a}')).toBe(1);
    await expect(service.acquire('b', { replicas: { min: 1, timeout: 50 } })).rejects.toThrow('0 of at least 1');
    await lock.release();
  });

  it('sends scripts to a node that does not know them, even after too many redirections', async () => {
    const client = bench.cluster.client({ maxRedirections: 0 });
    for (const { admin } of bench.cluster.nodes) await admin.script('FLUSH');
    const service = await bench.service({ connection: client });
    for (const key of await bench.cluster.keysOnAllMasters('flushed', 3)) {
      expect(await (await service.acquire(key)).release()).toBe(true);
    }
    await bench.untilNothingIsLeft();
  });

  it('needs only the documented permissions', async () => {
    const commands = [...COMMANDS, ...IN_CLUSTER].map((command) => `+${command}`);
    const rules = ['on', '>secret', '~lock:*', 'resetchannels', '&lock:client:*', ...commands];
    for (const { admin } of bench.cluster.nodes) {
      await admin.acl('SETUSER', 'locks', ...rules);
      await admin.acl('LOG', 'RESET');
    }
    const redisOptions = { username: 'locks', password: 'secret' };
    const connection = { cluster: bench.cluster.addresses, options: { redisOptions } };
    const [one, other] = await bench.pair({ connection });
    const { lock, waiting } = await bench.contended(one, other);
    await lock.release();
    expect(await other.forceRelease((await waiting).key)).toBe(true);
    const latch = one.getCountDownLatch('b');
    await latch.trySetCount(1);
    const opened = other.getCountDownLatch('b').await();
    await latch.countDown();
    expect(await opened).toBe(true);
    const refused = await Promise.all(
      bench.cluster.nodes.map(async ({ admin }) =>
        ((await admin.acl('LOG')) as unknown[][]).map((entry) => String(entry[entry.indexOf('object') + 1])),
      ),
    );
    // A telling name for the connection, which ioredis does without when it may not give one.
    expect(refused.flat().filter((what) => !what.startsWith('client|'))).toEqual([]);
  });
});

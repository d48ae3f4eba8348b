import type { LockHandle, LockService } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { SCRIPTS } from '../../../lib/redisson/scripts.generated.js';
import { LockBench, eventually, timed } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench({ defaults: { protocol: redisson() } });
let locks: LockService;
beforeEach(async () => {
  locks = await bench.service();
});
const QUEUE = 'redisson_lock_queue:{orders}';
const TIMES = 'redisson_lock_timeout:{orders}';
const ASKED = `${TIMES}:asked`;
const NUMBERS = `${TIMES}:numbers`;
const CHANNEL = 'redisson_lock__channel:{orders}';
const JAVA = ['java:1', 'java:2', 'java:3'] as const;
/** How long a test waits for a retry of a waiter, which comes every 4 s, on a busy machine. */
const A_RETRY = { within: 15_000 };
/** Within this time in ms, a dead waiter is passed over: 4.5 s. An overdue one takes 10 s. */
const SOON = 8_000;

const queue = (): Promise<string[]> => bench.redis.admin.lrange(QUEUE, 0, -1);
const untilQueued = (count: number): Promise<unknown> => eventually(async () => (await queue()).length === count);
const clock = async (): Promise<number> => Math.floor(await bench.redis.time());
const leftOf = async (owner: string): Promise<number> =>
  Number(await bench.redis.admin.zscore(TIMES, owner)) - (await clock());
/** When the waiters are overdue, the first one first. */
async function times(): Promise<Map<string, number>> {
  const flat = await bench.redis.admin.zrange(TIMES, '0', '-1', 'WITHSCORES');
  return new Map(flat.flatMap((owner, i) => (i % 2 === 0 ? [[owner, Number(flat[i + 1])] as const] : [])));
}
const differenceOf = (all: ReadonlyMap<string, number>, one: string, other: string): number =>
  all.get(one)! - all.get(other)!;
const untilSubscribed = (waiter: string, count = 1): Promise<unknown> =>
  eventually(async () => (await bench.subscribers(`${CHANNEL}:${waiter}`)) === count);
const wait = (service = locks): Promise<LockHandle> => service.acquire('orders', { fair: true, waitTimeout: '60s' });

function permutations<T>(all: readonly T[]): T[][] {
  if (all.length < 2) return [[...all]];
  return all.flatMap((first, i) => permutations(all.filter((_, j) => j !== i)).map((rest) => [first, ...rest]));
}

/** A client of Redisson holds the lock, or waits for it. */
const javaHolds = (owner: string): Promise<unknown> =>
  bench.redis.admin.multi().hset('orders', owner, 1).pexpire('orders', 60_000).exec();
const javaWaits = async (owner: string, left: number): Promise<void> => {
  await bench.redis.admin.rpush(QUEUE, owner);
  await bench.redis.admin.zadd(TIMES, (await clock()) + left, owner);
};
/** What the unlock script of Redisson does. */
async function javaReleases(): Promise<void> {
  await bench.redis.admin.del('orders');
  const [head] = await queue();
  if (head !== undefined) await bench.redis.admin.publish(`${CHANNEL}:${head}`, '0');
}

/** Runs the script of a request for the lock. */
const ask = (owner: string, hasWaited: 0 | 1): Promise<unknown> => {
  const args = [owner, 30_000, 1, hasWaited, 'single'];
  return bench.redis.admin.eval(SCRIPTS.acquireFair.source, 2, 'orders', `latch:${owner}`, ...args);
};

describe('an RFairLock', () => {
  it('is the hash of an RLock, a list of waiters and their times', async () => {
    const first = await wait();
    expect(await bench.redis.admin.hgetall('orders')).toEqual({ [first.owner]: '1' });
    expect(await queue()).toEqual([]);
    const second = wait();
    await untilQueued(1);
    const [waiter] = await queue();
    expect(await leftOf(waiter!)).toBeGreaterThan(3_000);
    expect(await leftOf(waiter!)).toBeLessThan(12_000);
    await first.release();
    expect((await second).owner).toBe(waiter);
    expect(await bench.redis.admin.exists(QUEUE, TIMES)).toBe(0);
    await (await second).release();
    expect(await bench.redis.admin.exists('orders')).toBe(0);
  });

  it('is granted in the order of arrival, across clients', async () => {
    const clients = await bench.serviceList(3);
    const holder = await wait(clients[0]);
    const order: number[] = [];
    const waiting: Array<Promise<void>> = [];
    for (let i = 0; i < 9; i++) {
      waiting.push(
        wait(clients[i % 3]).then(async (lock) => {
          order.push(i);
          await lock.release();
        }),
      );
      await untilQueued(i + 1);
    }
    await holder.release();
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('is not taken from a waiter of Redisson that comes first, and a release here wakes that waiter', async () => {
    const holder = await wait();
    await javaWaits(JAVA[0], 60_000);
    const second = wait();
    await untilQueued(2);
    const messages = await bench.messages(`${CHANNEL}:${JAVA[0]}`);
    await holder.release();
    await eventually(() => messages.length > 0);
    expect(await locks.tryAcquire('orders', { fair: true })).toBeNull();
    expect(await bench.redis.admin.exists('orders')).toBe(0);
    // Redisson takes the lock, and later leaves it to the waiter here.
    await bench.redis.admin.multi().lpop(QUEUE).zrem(TIMES, JAVA[0]).exec();
    await javaHolds(JAVA[0]);
    await javaReleases();
    await (await second).release();
  });

  it('passes over a head of Redisson that is overdue', async () => {
    await javaWaits(JAVA[0], -1_000);
    await javaWaits(JAVA[1], -1_000);
    await (await wait()).release();
    expect(await bench.redis.admin.exists(QUEUE, TIMES)).toBe(0);
  });

  it('a waiter that gives up leaves the list and the set, and those behind it are overdue earlier', async () => {
    await javaHolds(JAVA[0]);
    await javaWaits(JAVA[1], 60_000);
    const giving = new AbortController();
    const waiting = locks.acquire('orders', { fair: true, waitTimeout: '60s', signal: giving.signal });
    await untilQueued(2);
    const [, waiter] = await queue();
    expect(differenceOf(await times(), waiter!, JAVA[1])).toBe(10_000);
    // In one step: the waiter may change all times at any moment.
    const script = "redis.call('ZADD', KEYS[1], redis.call('ZSCORE', KEYS[1], ARGV[1]) + 300000, ARGV[2])";
    await bench.redis.admin.multi().eval(script, 1, TIMES, waiter!, JAVA[2]).rpush(QUEUE, JAVA[2]).exec();
    giving.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await untilQueued(2);
    const left = await times();
    expect([...left.keys()]).toEqual([JAVA[1], JAVA[2]]);
    expect(differenceOf(left, JAVA[2], JAVA[1])).toBe(300_000);
  });

  it('a waiter refreshes its place, and frees no place before it while the lock is held', async () => {
    await javaHolds(JAVA[0]);
    await javaWaits(JAVA[1], 3_000_000);
    const waiting = wait();
    await untilQueued(2);
    const [, waiter] = await queue();
    // As if no waiter had looked for 100 s.
    await eventually(async () => (await bench.redis.admin.exists(ASKED)) === 1);
    await bench.redis.admin.zadd(ASKED, (await clock()) - 100_000, 'kept');
    await bench.redis.admin.persist(ASKED);
    await eventually(async () => (await leftOf(waiter!)) > 3_090_000, A_RETRY);
    expect(await leftOf(JAVA[1])).toBeGreaterThan(3_080_000);
    // The first one has the lock, and takes its wait away.
    await bench.redis.admin
      .multi()
      .lpop(QUEUE)
      .zrem(TIMES, JAVA[1])
      .zadd(TIMES, await clock(), waiter!)
      .exec();
    await eventually(async () => (await leftOf(waiter!)) > 5_000, A_RETRY);
    expect(await leftOf(waiter!)).toBeLessThan(12_000);
    await javaReleases();
    await (await waiting).release();
  });

  it('a living waiter that Redisson has dropped gets its place at the head again', async () => {
    await javaHolds(JAVA[0]);
    const waiting = wait();
    await untilQueued(1);
    const [waiter] = await queue();
    await javaWaits(JAVA[1], 300_000);
    await untilSubscribed(waiter!);
    await bench.redis.admin.multi().lpop(QUEUE).zrem(TIMES, waiter!).exec();
    await eventually(async () => (await queue())[0] === waiter, A_RETRY);
    expect(await queue()).toEqual([waiter, JAVA[1]]);
    // As if the waiter had come before it: so much is taken away when the waiter leaves.
    expect(await leftOf(JAVA[1])).toBeGreaterThan(305_000);
    await javaReleases();
    await (await waiting).release();
    expect(await queue()).toEqual([JAVA[1]]);
    expect(await leftOf(JAVA[1])).toBeLessThan(305_000);
  });

  it('living waiters that Redisson has dropped return in the order of their arrival', async () => {
    const clients = await bench.serviceList(2);
    await javaHolds(JAVA[0]);
    const waiting: Array<Promise<LockHandle>> = [];
    // Several of each client, some of them between those of the other.
    for (const [i, client] of [0, 0, 1, 0, 1, 1].entries()) {
      waiting.push(wait(clients[client]));
      await untilQueued(i + 1);
    }
    await javaWaits(JAVA[1], 3_000_000);
    const order = await queue();
    await Promise.all(order.slice(0, 6).map((waiter) => untilSubscribed(waiter)));
    await bench.redis.admin
      .multi()
      .lpop(QUEUE, 6)
      .zrem(TIMES, ...order.slice(0, 6))
      .exec();
    await eventually(async () => (await queue()).length === 7, A_RETRY);
    expect(await queue()).toEqual(order);
    await javaReleases();
    for (const lock of waiting) await (await lock).release();
    expect(await queue()).toEqual([JAVA[1]]);
    expect(await bench.redis.admin.exists(ASKED, NUMBERS)).toBe(0);
  });

  it.each(['abab', 'aaba', 'abca', 'abba'])(
    'none of the waiters %s is overdue when its turn comes, in whatever order they have returned',
    async (clients) => {
      const owners = [...clients].map((client, i) => `${client}:${i}`);
      for (const returning of permutations(owners)) {
        await bench.redis.admin.flushall();
        await javaHolds(JAVA[0]);
        for (const owner of owners) await ask(owner, 0);
        await bench.redis.admin.del(QUEUE, TIMES);
        for (const owner of returning) await ask(owner, 1);
        expect(await queue()).toEqual(owners);
        for (const owner of owners) {
          expect(await leftOf(owner)).toBeGreaterThan(5_000);
          await bench.redis.admin.del('orders');
          expect(await ask(owner, 1)).toEqual([1, 0]);
        }
      }
    },
    60_000,
  );

  it('a retry of one of very many waiters neither reads nor changes all of them', async () => {
    await javaHolds(JAVA[0]);
    const owners = Array.from({ length: 300 }, (_, i) => `a:${i}`);
    for (const owner of owners) await ask(owner, 0);
    await bench.redis.admin.config('RESETSTAT');
    for (const owner of owners) await ask(owner, 1);
    const changes = await bench.calls('zincrby');
    // Even if the 300 requests take some seconds, the times of all change a few times.
    expect(changes).toBeLessThan(owners.length * 50);
    expect(await bench.calls('lrange')).toBe(0);
    await bench.redis.admin.del('orders');
    expect(await ask(owners[0]!, 1)).toEqual([1, 0]);
    expect(await bench.calls('lrange')).toBe(0);
    expect(await queue()).toEqual(owners.slice(1));
  });

  it('a waiter without a connection loses a free lock to the next one within 5 s, and returns to its place', async () => {
    const { proxy, service: away } = await bench.proxied();
    const holder = await wait();
    const first = wait(away);
    await untilQueued(1);
    const next = wait();
    await untilQueued(2);
    const third = wait();
    await untilQueued(3);
    proxy.disconnect();
    await holder.release();
    const { ran, value: second } = await timed(() => next);
    // An overdue head would keep it for 10 s.
    expect(ran).toBeLessThan(SOON);
    expect(await queue()).toHaveLength(1);
    await proxy.restore();
    await eventually(async () => (await queue()).length === 2, A_RETRY);
    await second!.release();
    // It came before the third.
    const served = await Promise.race([first.then(() => 'first'), third.then(() => 'third')]);
    expect(served).toBe('first');
    await (await first).release();
    await (await third).release();
  });

  it('a waiter of Redisson is woken when the dead waiter before it is removed', async () => {
    const { proxy, service: away } = await bench.proxied();
    await javaHolds(JAVA[0]);
    const lost = wait(away).catch(() => undefined);
    await untilQueued(1);
    await javaWaits(JAVA[1], 300_000);
    const last = wait();
    await untilQueued(3);
    proxy.disconnect();
    const messages = await bench.messages(`${CHANNEL}:${JAVA[1]}`);
    await javaReleases();
    await eventually(() => messages.length > 0, A_RETRY);
    expect((await queue())[0]).toBe(JAVA[1]);
    await bench.redis.admin.multi().lpop(QUEUE).zrem(TIMES, JAVA[1]).exec();
    await (await last).release();
    await proxy.restore();
    await (await lost)?.release();
  });

  it.each([
    ['is subscribed', 'silent'],
    ['has asked a moment ago', 'unsubscribed'],
  ])('a waiter that %s is not taken for dead', async (_why, how) => {
    const { proxy, service: far } = await bench.proxied();
    await javaHolds(JAVA[0]);
    const waiting = wait(far).catch(() => undefined);
    await untilQueued(1);
    const [waiter] = await queue();
    await untilSubscribed(waiter!);
    if (how === 'silent') proxy.dropRequests();
    else proxy.disconnect();
    if (how !== 'silent') await untilSubscribed(waiter!, 0);
    const askedAt = how === 'silent' ? (await clock()) - 100_000 : (await clock()) + 1_000;
    // In one step: each moment counts.
    await bench.redis.admin.multi().del('orders').zadd(ASKED, askedAt, waiter!).exec();
    expect(await locks.tryAcquire('orders', { fair: true })).toBeNull();
    expect(await queue()).toEqual([waiter]);
    await proxy.restore();
    await (await waiting)?.release();
  });

  it('the waiters of a dead client are passed over together', async () => {
    const { proxy, service: dead } = await bench.proxied();
    const holder = await wait();
    const lost = [1, 2, 3].map(() => wait(dead).catch(() => undefined));
    await untilQueued(3);
    proxy.dropRequests();
    const last = wait();
    await untilQueued(4);
    // Each of them alone would have 10 s more than the one before it.
    const all = await times();
    expect(new Set((await queue()).slice(0, 3).map((owner) => all.get(owner))).size).toBe(1);
    await holder.release();
    await (await last).release();
    expect(await queue()).toEqual([]);
    proxy.heal();
    proxy.disconnect();
    for (const lock of await Promise.all(lost)) await lock?.release();
  });

  it('a forced release here wakes the head, and a lost reply leaves one place', async () => {
    const { proxy, service: far } = await bench.proxied({ commandTimeout: 20_000 });
    await javaHolds(JAVA[0]);
    // The server knows the script now: the command that is cut off has its effect.
    expect(await locks.tryAcquire('orders', { fair: true })).toBeNull();
    const cut = proxy.cutAfterCommand(({ name, args }) => name === 'evalsha' && args.includes('orders'));
    const waiting = wait(far);
    await cut.happened;
    await eventually(async () => Number((await bench.redis.admin.pubsub('CHANNELS', `${CHANNEL}:*`)).length) === 1);
    expect(await queue()).toHaveLength(1);
    expect(await locks.forceRelease('orders')).toBe(true);
    await (await waiting).release();
    expect(await bench.redis.admin.exists(QUEUE, TIMES, 'orders')).toBe(0);
  });
});

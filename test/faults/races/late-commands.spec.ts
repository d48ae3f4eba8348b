import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import type { AcquireOptions } from '../../../lib/options/acquire-options.js';
import { LockBench, timed, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench({ leavesNothing: true });

/** A waiter behind a proxy for the lock of another client. A pushed grant of it lasts 300 ms at first. */
async function waiterBehindProxy(options: AcquireOptions = {}) {
  const proxy = await bench.proxy();
  const holder = await bench.service();
  const waiter = await bench.service({ connection: proxy.url, grantTimeout: 300 });
  const { lock: first, waiting } = await bench.contended(holder, waiter, options);
  return { proxy, holder, waiter, first, waiting };
}

describe('a grant that has not reached its client', () => {
  it('ends a single try without a hold if every reply comes after the end of its lease', async () => {
    const { proxy, service } = await bench.proxied();
    await (await service.acquire('known')).release();
    proxy.delay({ request: 50, reply: 50 });
    const before = proxy.commands.length;
    let ended = false;
    const trying = timed(() => service.tryAcquire('a', { expire: 60 }).finally(() => (ended = true)));
    await eventually(() => ended, { within: 3_000, what: 'the end of one try' });
    expect((await trying).error).toMatchObject({ code: 'LOCK_STORE', transient: true });
    const asked = proxy.commands.slice(before).filter(({ args }) => args[0] === SCRIPTS.acquire.sha1);
    expect(asked).toHaveLength(1);
  });
});

it('a late message about the end of an earlier grant does not end a later one', async () => {
  const { proxy, holder: one, waiter: two, first, waiting } = await waiterBehindProxy();
  proxy.holdReplies(({ isSubscriber }) => isSubscriber);
  await first.release();
  expect(await one.forceRelease('a')).toBe(true);
  const second = await waiting;
  expect(second.isHeld).toBe(true);
  const marker = await two.acquire('b');
  proxy.heal();
  // Its message comes behind the late one, on the same connection.
  await one.forceRelease('b');
  await eventually(() => !marker.isHeld);
  const { isHeld } = second;
  await second.release();
  expect(isHeld).toBe(true);
});

it.each([
  [20_000, 400],
  [400, 20_000],
])('overlapping extensions of %d and %d ms keep the longer lease', async (first, second) => {
  const { proxy, service } = await bench.proxied();
  const lock = await service.acquire('a', { expire: 5_000 });
  // From now on the server knows the script.
  await lock.verify();
  proxy.holdReplies();
  const both = [lock.extend(first), lock.extend(second)];
  await eventually(async () => (await bench.redis.admin.pttl('lock:state:{a}')) > 15_000);
  proxy.heal();
  await Promise.all(both);
  expect(lock.remainingTime()).toBeGreaterThan(15_000);
  await lock.verify();
  expect(await lock.release()).toBe(true);
});

it('a duplicate extension that arrives late, on the lost connection, changes nothing', async () => {
  const { proxy, service } = await bench.proxied();
  const lock = await service.acquire('a', { expire: 20_000 });
  const [lost] = proxy.openConnections.filter(({ isSubscriber }) => !isSubscriber);
  proxy.holdRequests((connection) => connection === lost);
  const isOnItsWay = proxy.seen({ names: ['evalsha', 'eval'] });
  const shorter = lock.extend(3_000);
  await isOnItsWay;
  // The client sends it again on the next connection; the bytes that the first one has taken are still under way.
  proxy.endReplies((connection) => connection === lost);
  await shorter;
  await lock.extend(20_000);
  proxy.heal();
  await lock.verify();
  expect((await service.inspect('a'))!.ttl).toBeGreaterThan(15_000);
  expect(await lock.release()).toBe(true);
});

it.each([
  ['one key', 'a'],
  ['several keys', ['a', 'b']],
])('%s that are requested at shutdown are not kept', async (_name, keys) => {
  const { proxy, service } = await bench.proxied({ shutdownTimeout: 1_000 });
  await (await service.acquire('warm')).release();
  await (await service.acquire(['warm', 'warm2'])).release();
  proxy.delay({ reply: 100 });
  const asked = proxy.seen(({ name }) => name === 'evalsha');
  const acquiring = service.acquire(keys).then(
    () => 'acquired',
    (error: Error) => error.message,
  );
  await asked;
  await service.close();
  const said = await acquiring;
  const left = await bench.redis.admin.keys('lock:state:*');
  expect(left).toEqual([]);
  expect(said).toContain('shutting down');
});

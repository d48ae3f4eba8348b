import { describe, expect, it } from '@jest/globals';
import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import type { AcquireOptions } from '../../../lib/options/acquire-options.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { redisKey } from '../../../lab/testbed/locks/fault-locks.js';
import { LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import type { ConnectionFilter, RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';

const bench = new LockBench();

const SUBSCRIBERS: ConnectionFilter = ({ isSubscriber }) => isSubscriber;
const COMMANDS: ConnectionFilter = ({ isSubscriber }) => !isSubscriber;

/** How many clients listen, as Redis sees it. */
const listening = async (): Promise<number> =>
  ((await bench.redis.admin.pubsub('CHANNELS', 'lock:client:*')) as string[]).length;

/** Scripts that the server has been asked to run so far. */
async function scriptCalls(): Promise<number> {
  const { evalsha = 0, eval: byText = 0 } = await bench.redis.commandStats();
  return evalsha + byText;
}

/** Resolves when a push that says `word` has been passed on. */
function pushed(proxy: RespProxy, word: string): Promise<void> {
  const seen = deferred();
  proxy.dropPushes((push) => {
    if (Array.isArray(push) && push.some((part) => typeof part === 'string' && part.startsWith(word))) seen.resolve();
    return false;
  });
  return seen;
}

/** A waiter behind a proxy for the lock of another client. A pushed grant of it lasts 300 ms at first. */
async function waiterBehindProxy(options: AcquireOptions = {}) {
  const proxy = await bench.proxy();
  const holder = await bench.service();
  const waiter = await bench.service({ connection: proxy.url, grantTimeout: 300 });
  const first = await holder.acquire('a');
  const waiting = waiter.acquire('a', options);
  await bench.untilWaiting('a', 1);
  return { proxy, holder, waiter, first, waiting };
}

describe('one grant for each acquisition', () => {
  it('a waiter that was granted the lock while it received no messages is not granted it again', async () => {
    const proxy = await bench.proxy();
    const [holder, other] = await bench.serviceList(2);
    const deaf = await bench.service({ connection: proxy.url, grantTimeout: 300 });
    const first = await holder!.acquire('a', { expire: 20_000 });
    const waiting = deaf.acquire('a', { expire: 20_000 });
    await bench.untilWaiting('a', 1);
    proxy.refuse();
    proxy.cutAll(SUBSCRIBERS);
    await eventually(async () => (await listening()) === 2);
    await first.release();
    // It is not notified; it asks when its period is over, and does not take a place of which it could not be notified.
    const lock = await waiting;
    expect(await bench.waiters('a')).toEqual([]);

    await proxy.accept();
    await eventually(async () => (await listening()) === 3);
    // Settles the queue. A ticket that had stayed would be granted now, for `grantTimeout`.
    const { error } = await timed(() => other!.acquire('a', { waitTimeout: 700 }));
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT' });
    const holders = (await other!.inspect('a'))?.holders ?? [];
    expect(holders.map(({ fencingToken }) => fencingToken)).toEqual([lock.fencingToken]);
    await lock.verify();
    expect(await lock.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('a request that is executed after its release holds nothing in the end', async () => {
    const { proxy, waiter, first, waiting } = await waiterBehindProxy({ expire: 20_000 });
    // Its next question is not understood, and so it is executed only when it is asked by its text: late.
    await bench.redis.admin.script('FLUSH', 'SYNC');
    await bench.redis.admin.script('LOAD', SCRIPTS.release.source);
    proxy.holdReplies(COMMANDS);
    await proxy.seen({ names: ['evalsha'], where: ({ args }) => args[0] === SCRIPTS.acquire.sha1 });
    await first.release();
    const lock = await waiting;
    const released = lock.release();
    await eventually(async () => (await bench.redis.admin.exists(redisKey('state', 'a'))) === 0);

    const late = proxy.seen({ names: ['eval'], where: ({ args }) => args[0] === SCRIPTS.acquire.source });
    proxy.heal();
    await late;
    expect(await released).toBe(true);
    // Answered after the earlier commands: so they have been executed by then.
    await waiter.inspect('a');
    await bench.untilNothingIsLeft();
  });

  it('a duplicate request from before a reconnect that arrives after the release holds nothing', async () => {
    const proxy = await bench.proxy();
    // Gives a silent connection up, and sends the unanswered commands again on the next one.
    const connection = { host: proxy.host, port: proxy.port, socketTimeout: 500 };
    const service = await bench.service({ connection });
    const known = proxy.seen({ names: ['evalsha'] });
    await (await service.acquire('known')).release();
    const old = (await known).connection;
    proxy.holdRequests(({ id }) => id === old);
    const lock = await service.acquire('a');
    expect(await lock.release()).toBe(true);
    expect(await bench.redis.admin.exists(redisKey('state', 'a'))).toBe(0);

    const calls = await scriptCalls();
    proxy.heal();
    await eventually(async () => (await scriptCalls()) > calls);
    expect(await bench.redis.admin.exists(redisKey('state', 'a'))).toBe(0);
    await bench.untilNothingIsLeft();
    const next = await service.tryAcquire('a');
    expect(await next?.release()).toBe(true);
  });
});

describe('a grant that has not reached its client', () => {
  it('does not count if it was ended by force before its reply came', async () => {
    const proxy = await bench.proxy();
    const [far, near] = [await bench.service({ connection: proxy.url }), await bench.service()];
    await (await far.acquire('a')).release();
    const revoked = pushed(proxy, 'revoked');
    proxy.holdReplies(COMMANDS);
    let granted: LockHandle | undefined;
    const waiting = far.acquire('a').then((lock) => (granted = lock));
    await eventually(() => near.inspect('a'));
    expect(await near.forceRelease('a')).toBe(true);
    const lock = await near.tryAcquire('a');
    expect(lock?.isHeld).toBe(true);
    await revoked;
    // The push is on its way to a client of this process: a few turns, and it has been read.
    for (let turn = 0; turn < 5; turn++) await bench.redis.admin.ping();

    proxy.heal();
    // Its answer comes behind the one of the grant.
    await far.inspect('a');
    expect(granted).toBeUndefined();
    expect(await lock!.release()).toBe(true);
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock!.fencingToken);
    expect(await next.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('is released although the connection was down when its caller gave up', async () => {
    const proxy = await bench.proxy();
    const service = await bench.service({ connection: proxy.url });
    await (await service.acquire('known')).release();
    const cut = proxy.cutAfterCommand({ names: ['evalsha'] });
    const controller = new AbortController();
    const waiting = timed(() => service.acquire('a', { signal: controller.signal }));
    await cut.happened;
    controller.abort(new Error('given up'));
    expect((await waiting).error).toBe(controller.signal.reason);
    expect(await bench.redis.admin.exists(redisKey('state', 'a'))).toBe(1);
    await bench.untilNothingIsLeft();
  });

  it('ends a single try without a hold if every reply comes after the end of its lease', async () => {
    const proxy = await bench.proxy();
    const service = await bench.service({ connection: proxy.url });
    await (await service.acquire('known')).release();
    proxy.delay({ request: 50, reply: 50 });
    const before = proxy.commands.length;
    let ended = false;
    const trying = timed(() => service.tryAcquire('a', { expire: 60 }).finally(() => (ended = true)));
    await eventually(() => ended, { within: 3_000, what: 'the end of one try' });
    expect((await trying).error).toMatchObject({ code: 'LOCK_STORE', transient: true });
    const asked = proxy.commands.slice(before).filter(({ args }) => args[0] === SCRIPTS.acquire.sha1);
    expect(asked).toHaveLength(1);
    await bench.untilNothingIsLeft();
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
  const proxy = await bench.proxy();
  const service = await bench.service({ connection: proxy.url });
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
  const proxy = await bench.proxy();
  const service = await bench.service({ connection: proxy.url });
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
  const proxy = await bench.proxy();
  const service = await bench.service({ connection: proxy.url, shutdownTimeout: 1_000 });
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

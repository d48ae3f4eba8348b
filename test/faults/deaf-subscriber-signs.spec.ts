import { setTimeout as sleep } from 'node:timers/promises';
import { startReplica } from '../../lab/testbed/locks/replica-bench.js';
import type { LockService } from '../../lib/service/lock.service.js';
import {
  blockEventLoop,
  expectHandoff,
  LockBench,
  eventually,
  startRedis,
  type RedisServer,
} from '../../lab/testbed/locks/locks.js';
import { type RespProxy, type ConnectionFilter } from '../../lab/testbed/proxies/resp-proxy.mjs';

const LISTENING: ConnectionFilter = ({ isSubscriber }) => isSubscriber;
/** A subscriber that has been silent for so long would have been found out, in ms. */
const LONGEST_SILENCE = 8_000;

const bench = new LockBench({ leavesNothing: true });
let proxy: RespProxy;
beforeEach(async () => {
  proxy = await bench.proxy();
});

/** The connections that listen through the proxy and pass on the messages that they receive. */
const listening = (): number[] => proxy.openConnections.filter(LISTENING).map(({ id }) => id);
/** Why subscriptions were left. */
const reasons = (): string[] =>
  bench.lines.filter((line) => line.startsWith('error')).map((line) => line.replace(/^.*retrying: /, ''));
const isSubscribed = async (service: LockService): Promise<boolean> => (await service.health()).subscribed;

it('a waiter learns from the reply with its place that its channel has no subscriber', async () => {
  const [near, far] = [await bench.service(), await bench.service({ connection: proxy.url })];
  const lock = await near.acquire('a');
  const [before] = listening();
  proxy.goDeaf(LISTENING, { serverNotices: true });
  await eventually(async () => (await bench.redis.admin.pubsub('CHANNELS', 'lock:client:*')).length === 1);
  // Until then the client does not know. No new connection is made until its health has been seen to report it.
  expect(await isSubscribed(far)).toBe(true);
  proxy.refuse();
  const waiting = far.acquire('a');
  await bench.untilWaiting('a', 1);
  await eventually(async () => !(await isSubscribed(far)), { what: 'health that knows' });
  await proxy.accept();
  await eventually(() => isSubscribed(far), { within: 5_000 });
  expect(listening().at(-1)).toBeGreaterThan(before!);
  expect(reasons()[0]).toBe('the server sees no subscriber on the channel of this client');
  await expectHandoff(lock, waiting);
});

/** How often Redis has looked for subscribers. */
const looks = async (): Promise<number> =>
  Number(/cmdstat_pubsub\|numsub:calls=(\d+)/.exec(await bench.redis.admin.info('commandstats'))?.[1] ?? 0);

it('Redis does not look for a subscriber that has just received a grant of the key', async () => {
  const [near, far] = [await bench.service(), await bench.service({ connection: proxy.url })];
  /** How often Redis looks while `far` takes a place, `pause` ms after it has received a grant. */
  const looksAfter = async (pause: number): Promise<number> => {
    const waitForTurn = async (prepared: () => Promise<unknown> = async () => {}): Promise<number> => {
      await near.acquire('a');
      await prepared();
      const before = await looks();
      const waiting = far.acquire('a');
      await bench.untilWaiting('a', 1);
      const during = (await looks()) - before;
      await near.forceRelease('a');
      await (await waiting).release();
      return during;
    };
    await waitForTurn();
    return waitForTurn(() => sleep(pause));
  };
  expect(await looksAfter(700)).toBe(1);
  // On a busy machine the message may be older by then.
  await eventually(async () => (await looksAfter(0)) === 0, { what: 'a place without a look', within: 20_000 });
});

/** It asks every 500 ms, so within the first lease of a grant that does not reach it. */
const ASKS_OFTEN = { renewedLease: 1_500, grantTimeout: 1_000 };

it('a waiter learns from a grant that it finds by a retry that its messages do not arrive', async () => {
  const [near, far] = [await bench.service(), await bench.service({ connection: proxy.url, ...ASKS_OFTEN })];
  const { lock, waiting } = await bench.contended(near, far);
  proxy.goDeaf(LISTENING, { serverNotices: false });
  expect(await lock.release()).toBe(true);
  const next = await waiting;
  await eventually(() => reasons().length > 0, { what: 'a doubt' });
  await eventually(() => isSubscribed(far), { within: 5_000 });
  expect(reasons()).toEqual(['the message about a granted lock did not arrive']);
  expect(await next.release()).toBe(true);
});

it('a message that arrives after the reply is no sign of a dead subscription', async () => {
  const [near, far] = [await bench.service(), await bench.service({ connection: proxy.url, ...ASKS_OFTEN })];
  const before = listening();
  const { lock, waiting } = await bench.contended(near, far);
  proxy.holdReplies(LISTENING);
  expect(await lock.release()).toBe(true);
  const next = await waiting;
  proxy.heal();
  // For longer than a message is waited for.
  await sleep(1_000);
  expect([reasons(), listening()]).toEqual([[], before]);
  expect(await next.release()).toBe(true);
});

/** The ids of the connections that listen on a server, as that sees them. */
const listenersOf = async ({ admin }: RedisServer): Promise<string[]> =>
  [...String(await admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).matchAll(/^id=(\d+)/gm)].map(([id]) => id);

it('a frozen Redis, a stalled process and a refused PING do not replace subscriptions', async () => {
  await using frozen = await startRedis();
  await bench.redis.admin.acl('SETUSER', 'silent', 'on', '>secret', '~*', '&*', '+@all', '-ping');
  const connections = [frozen.url, bench.redis.url.replace('//', '//silent:secret@')];
  const services = await Promise.all(connections.map((connection) => bench.service({ connection })));
  const listeners = async (): Promise<string[][]> => [await listenersOf(frozen), await listenersOf(bench.redis)];
  const before = await listeners();
  expect(before.map(({ length }) => length)).toEqual([1, 1]);
  // Each for longer than it takes to find out a deaf one; the one is frozen while the other refuses.
  await frozen.pause();
  await sleep(LONGEST_SILENCE);
  await frozen.resume();
  blockEventLoop(LONGEST_SILENCE);
  await sleep(2_000);
  expect(await listeners()).toEqual(before);
  expect(reasons()).toEqual([]);
  for (const service of services) expect(await isSubscribed(service)).toBe(true);
  await bench.close();
});

it('does not subscribe to a replica, and follows its address to the master', async () => {
  await using replica = await startReplica(bench.redis);
  const far = await bench.service({ connection: proxy.url });
  proxy.leadTo(replica);
  proxy.cutAll(LISTENING);
  await eventually(() => reasons().some((reason) => reason.includes('leads to a replica')), { within: 5_000 });
  expect(await isSubscribed(far)).toBe(false);
  expect(await replica.admin.pubsub('CHANNELS', 'lock:client:*')).toEqual([]);
  proxy.leadTo(bench.redis);
  await eventually(() => isSubscribed(far), { within: 5_000 });
  expect(await bench.redis.admin.pubsub('CHANNELS', 'lock:client:*')).toHaveLength(1);
});

it('notices a subscription at a replica without INFO, and follows its address', async () => {
  await using replica = await startReplica(bench.redis);
  for (const server of [bench.redis, replica]) {
    await server.admin.acl('SETUSER', 'blind', 'on', '>secret', '~*', '&*', '+@all', '-info');
  }
  const connection = proxy.url.replace('//', '//blind:secret@');
  const [near, far] = [await bench.service(), await bench.service({ connection })];
  const lock = await near.acquire('a');
  proxy.leadTo(replica);
  proxy.cutAll(LISTENING);
  await eventually(async () => (await replica.admin.pubsub('CHANNELS', 'lock:client:*')).length === 1, {
    within: 5_000,
  });
  proxy.leadTo(bench.redis);
  const waiting = far.acquire('a');
  await eventually(async () => (await bench.redis.admin.pubsub('CHANNELS', 'lock:client:*')).length === 2, {
    within: 5_000,
  });
  await expectHandoff(lock, waiting);
});

it('grants the lock to a waiter whose subscription is killed repeatedly', async () => {
  const [one, other] = await bench.pair();
  for (let round = 0; round < 5; round++) {
    const { lock: handle, waiting } = await bench.contended(one, other);
    await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    // Wherever the new subscription stands by now: nowhere, half or whole.
    for (let turn = 0; turn < round * 3; turn++) await bench.redis.admin.ping();
    const since = performance.now();
    await handle.release();
    const next = await waiting;
    // A waiter asks by itself after 3 s at the earliest.
    expect(performance.now() - since).toBeLessThan(2_500);
    await next.release();
  }
});

it('does not queue without a subscription, and waits nevertheless', async () => {
  const [one, deaf] = [await bench.service(), await bench.service({ connection: proxy.url, renewedLease: 1_500 })];
  const handle = await one.acquire('a', { expire: 900 });
  // The commands' connection stays; a new subscription is refused.
  proxy.refuse();
  proxy.cutAll(LISTENING);
  await eventually(() => listening().length === 0);
  const next = await deaf.acquire('a');
  expect(next.fencingToken).toBeGreaterThan(handle.fencingToken);
  expect(handle.isHeld).toBe(false);
  expect(await next.release()).toBe(true);
  await proxy.accept();
});

import { RedissonStore } from '../../../lib/redisson/redisson-store.js';
import type { AcquireRequest } from '../../../lib/store/lock-store.js';
import { StagedStore } from '../../../lib/testing/contract/stage.js';
import type { ProxiedConnection } from '../../../lab/testbed/proxies/proxied-connection.mjs';
import { RespProxy, startRedis, type RedisServer, eventually } from '../../../lab/testbed/locks/locks.js';

const quiet = { debug() {}, log() {}, warn() {}, error() {} };
const CHANNEL = 'redisson_lock__channel:{orders}';
/** As long as a waiter would wait without a message. */
const PERIOD = 100_000;

const listens = ({ isSubscriber }: ProxiedConnection): boolean => isSubscriber;
const asks = (connection: ProxiedConnection): boolean => !listens(connection);

let redis: RedisServer;
let proxy: RespProxy;
let store: RedissonStore;
let staged: StagedStore;

const requestOf = (): AcquireRequest => staged.request('orders', { period: PERIOD, patience: 2 * PERIOD });

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  await redis.admin.flushall();
  proxy = await RespProxy.start(redis);
  const options = {
    connection: proxy.url,
    keyPrefix: 'lock',
    commandTimeout: 20_000,
    renewedLease: 30_000,
    nameMapper: (key: string) => key,
  };
  store = new RedissonStore({ ...options, fenced: false }, quiet);
  staged = new StagedStore(store);
  await store.start();
});
afterEach(async () => {
  await store.close();
  await proxy[Symbol.asyncDispose]();
});

const release = ({ key, id }: AcquireRequest, next?: AcquireRequest) =>
  store.release({ key, id, tombstoneFor: 0, keep: 0, next });

describe('a waiter', () => {
  it('retries at once if the message came before the reply that it makes obsolete', async () => {
    const [holder, waiter] = [requestOf(), requestOf()];
    await store.acquire(holder);
    const first = await store.acquire(waiter);
    expect(first).toMatchObject({ outcome: 'queued', holders: [holder.id] });
    expect('retryAfter' in first && first.retryAfter).toBeGreaterThan(20_000);

    proxy.holdReplies(asks);
    const second = store.acquire(waiter);
    await redis.admin.publish(CHANNEL, '0');
    await eventually(() => staged.isToAsk(waiter));
    proxy.heal();
    expect(await second).toMatchObject({ outcome: 'queued', retryAfter: 0 });
  });

  it('behind a release in its own process tries when the message arrives, as all other clients do', async () => {
    const [holder, waiter] = [requestOf(), requestOf()];
    await store.acquire(holder);
    await store.acquire(waiter);
    await release(waiter);
    const next = requestOf();
    const { released, next: reply } = await release(holder, next);
    expect(released).toBe(true);
    expect(reply?.outcome).toBe('queued');
    expect(await redis.admin.exists('orders')).toBe(0);
    await eventually(() => staged.isToAsk(next));
    expect((await store.acquire(next)).outcome).toBe('held');
  });

  it('is woken when its subscription is confirmed late', async () => {
    const [holder, waiter] = [requestOf(), requestOf()];
    await store.acquire(holder);
    proxy.holdReplies(listens);
    expect((await store.acquire(waiter)).outcome).toBe('busy');
    expect(staged.isToAsk(waiter)).toBe(false);
    proxy.heal();
    await eventually(() => staged.isToAsk(waiter));
  });

  it('that gives up while the release before it is unanswered holds back no later one', async () => {
    const [holder, next, later] = [requestOf(), requestOf(), requestOf()];
    await store.acquire(holder);
    proxy.holdReplies(asks);
    const released = release(holder, next);
    await eventually(async () => (await redis.admin.exists('orders')) === 0);
    const left = release(next);
    await redis.admin.hset('orders', 'another client', 1);
    proxy.heal();
    // It cannot subscribe.
    proxy.dropRequests(listens);
    expect((await released).next?.outcome).toBe('left');
    await left;
    proxy.heal();
    await redis.admin.del('orders');
    expect((await store.acquire(later)).outcome).toBe('held');
  });

  it('that gives up before its second request leaves nothing behind', async () => {
    const [holder, waiter] = [requestOf(), requestOf()];
    await store.acquire(holder);
    proxy.holdReplies(listens);
    const asked = store.acquire(waiter);
    await release(waiter);
    await release(holder);
    proxy.heal();
    expect((await asked).outcome).not.toBe('held');
    expect(await redis.admin.exists('orders')).toBe(0);
    const later = requestOf();
    await redis.admin.hset('orders', 'java:1', 1);
    await store.acquire(later);
    await redis.admin.publish(CHANNEL, '0');
    await eventually(() => staged.isToAsk(later));
    expect(staged.isToAsk(waiter)).toBe(false);
  });
});

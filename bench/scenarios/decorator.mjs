import { median } from '../harness/statistics.mjs';

const BATCHES = 60;

export default {
  name: 'decorator',
  title: 'The decorator against `run`',
  about:
    'What `@DistributedLock` with a key template adds to `LockService.run`. The two take turns, within a scope that holds ' +
    'the lock already (no command to Redis, so the difference is all there is to see) and on Redis.',
  columns: [
    { key: 'decorated', title: 'decorated µs', digits: 2 },
    { key: 'run', title: '`run` µs', digits: 2 },
    { key: 'more', title: 'more µs', digits: 2 },
    { key: 'decoratedOnRedis', title: 'decorated, on Redis µs', digits: 1 },
    { key: 'runOnRedis', title: '`run`, on Redis µs', digits: 1 },
  ],
  charts: [],
  includes: ({ library, variant }) => library === 'ours' && variant === 'defaults',

  async measure({ threads, server, target }, _variant, { isQuick }) {
    await server.clear();
    const [thread] = await threads.take(1, 'ours');
    return thread.call('work', import.meta.url, 'compare', { target, calls: isQuick ? 100 : 1_000 });
  },
};

/** In a thread. */
export async function compare({ target, calls, connectionTo, loadLibrary }) {
  const { open, load } = await loadLibrary('ours');
  const { DistributedLock } = await load();

  class Stock {
    async reserve(order) {
      return order.sku;
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Stock.prototype, 'reserve');
  DistributedLock({ key: 'stock:#{#order.sku}' })(Stock.prototype, 'reserve', descriptor);
  Object.defineProperty(Stock.prototype, 'reserve', descriptor);

  const client = await open({ connection: connectionTo(target), providers: [Stock] });
  const stock = client.app.get(Stock);
  const order = { sku: '42' };
  const decorated = () => stock.reserve(order);
  const byHand = () => client.locks.run('stock:42', async () => order.sku);
  const within = await client.locks.run('stock:42', () => alternate(decorated, byHand, calls));
  const onRedis = await alternate(decorated, byHand, Math.ceil(calls / 10));
  await client.close();
  return {
    ...{ decorated: within.first, run: within.second, more: within.more },
    ...{ decoratedOnRedis: onRedis.first, runOnRedis: onRedis.second },
  };
}

async function alternate(first, second, calls) {
  const [ofFirst, ofSecond] = [[], []];
  for (let batch = 0; batch < BATCHES; batch++) {
    ofFirst.push(await time(first, calls));
    ofSecond.push(await time(second, calls));
  }
  const [a, b] = [median(ofFirst), median(ofSecond)];
  return { first: a, second: b, more: a - b };
}

/** µs for each call */
async function time(call, calls) {
  const began = performance.now();
  for (let i = 0; i < calls; i++) await call();
  return ((performance.now() - began) * 1_000) / calls;
}

// What @DistributedLock adds to LockService.run. The two take turns, once within a scope that holds the lock already (no
// command to Redis, so the difference is all there is to see) and once on a Redis of their own. Prints medians and
// asserts nothing: npm run bench:decorator
import { build } from '../scripts/build.mjs';
import { checkNodeVersion, ensureNodeModules, ensureRedis } from '../scripts/setup.mjs';

const ROUNDS = 60;

checkNodeVersion();
await ensureNodeModules();
const server = await (await ensureRedis()).start();
try {
  await build();
  await import('reflect-metadata');
  const { NestFactory } = await import('@nestjs/core');
  const { DistributedLock, LockService, RedisLockModule } = await import('nestjs-redis-locks');

  class Stock {
    async reserve(order) {
      return order.sku;
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Stock.prototype, 'reserve');
  DistributedLock({ key: 'stock:#{#order.sku}' })(Stock.prototype, 'reserve', descriptor);
  Object.defineProperty(Stock.prototype, 'reserve', descriptor);

  const root = {
    module: class Root {},
    imports: [RedisLockModule.forRoot({ connection: server.url })],
    providers: [Stock],
  };
  const app = await NestFactory.createApplicationContext(root, { logger: false });
  const stock = app.get(Stock);
  const locks = app.get(LockService);
  const order = { sku: '42' };

  const decorated = () => stock.reserve(order);
  const byHand = () => locks.run('stock:42', async () => order.sku);
  await locks.run('stock:42', () => compare('within a scope that holds the lock', 1_000, decorated, byHand));
  await compare('on Redis', 200, decorated, byHand);
  await app.close();
} finally {
  await server.stop();
}

async function compare(what, calls, decorated, byHand) {
  const times = { decorated: [], byHand: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.decorated.push(await time(decorated, calls));
    times.byHand.push(await time(byHand, calls));
  }
  const [a, b] = [median(times.decorated), median(times.byHand)];
  console.log(
    `${what}: @DistributedLock ${a.toFixed(2)} µs, LockService.run ${b.toFixed(2)} µs a call: ${(a - b).toFixed(2)} µs more`,
  );
}

async function time(call, calls) {
  const start = performance.now();
  for (let i = 0; i < calls; i++) await call();
  return ((performance.now() - start) * 1_000) / calls;
}

function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}

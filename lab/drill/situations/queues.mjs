import { FAILED } from '../stage.mjs';

const LISTENING = ({ isSubscriber }) => isSubscriber;

/** Situations in which callers wait. */
export const QUEUES = {
  async 'A reader holds the key, and a writer waits'(stage, redis) {
    const report = await stage.application('report-1');
    await report.call('hold', 'prices', { kind: 'read', owner: 'monthly-report' });
    const shop = await stage.application('shop-1');
    await shop.call('wait', 'prices');
    await stage.until('the writer waits', async () => (await redis.admin.zcard('lock:queue:{prices}')) === 1);
    const other = await stage.application('shop-2');
    await other.call('wait', 'prices', { kind: 'read' });
    await stage.shows(
      'npx nestjs-redis-locks inspect prices',
      '1 holding, 2 processes in the queue',
      /^1 +exclusive/m,
      /^2 +read/m,
    );
    await stage.shows('npx nestjs-redis-locks ls --sort waiters', 'monthly-report');
    await stage.shows('curl -s http://shop-1/metrics | grep redis_lock_waiting', /\} 1/);
    await other.call('attempt', 'prices', { kind: 'read', waitTimeout: '1s' });
    await stage.shows('grep lock.timeout shop-2.log', '"holder":"report-1');
    await stage.shows('Dashboard of shop-2', /^1. exclusive/m, /^2. read/m, 'held by report-1');
    await report.call('release', 'prices');
    await stage.until('the writer is served', async () => (await redis.admin.zcard('lock:queue:{prices}')) === 1);
  },

  async 'A waiter does not hear that it was granted the lock'(stage, redis) {
    const proxy = await stage.proxy(redis);
    const shop = await stage.holder();
    const far = await stage.application('shop-2', { connection: proxy.url });
    await far.call('wait', 'stock:42');
    await stage.until('a waiter', async () => (await redis.admin.zcard('lock:queue:{stock:42}')) === 1);
    // Messages get lost on their way, and neither side sees the end of a connection.
    proxy.goDeaf(LISTENING, { serverNotices: false });
    proxy.dropReplies(LISTENING);
    stage.url = proxy.url;
    await stage.shows('curl -s http://shop-2/health | grep subscribed', 'false');
    await stage.shows('curl -s http://shop-2/metrics | grep redis_lock_subscribed', /\} 0/);
    await stage.shows('npx nestjs-redis-locks doctor -t 2s | grep -A1 pub/sub', 'problem');
    await shop.call('release', 'stock:42');
    await stage.shows('npx nestjs-redis-locks inspect stock:42', '1 holding, 0 processes in the queue');
    await stage.shows('Dashboard of shop-2, last holders', 'for shop-1');
  },

  async 'Two processes wait for each other'(stage, redis) {
    const [shop, other] = [await stage.application('shop-1'), await stage.application('shop-2')];
    await shop.call('nest', 'order:7', 'stock:42');
    await other.call('nest', 'stock:42', 'order:7', { waitTimeout: '20s' });
    await shop.call('proceed');
    await stage.until('a waiter', async () => (await redis.admin.zcard('lock:queue:{stock:42}')) === 1);
    await shop.call('look', 'order:7');
    await other.call('look', 'order:7');
    await other.call('proceed');
    await stage.shows('npx nestjs-redis-locks doctor | grep -A1 deadlocks', 'has waited for', 'shop-2', 'shop-1');
    await stage.shows('grep ERROR shop-2.log', 'A deadlock: the client of the holder waits');
  },

  async 'Redis refuses the commands'(stage, redis) {
    const rules = ['on', '>password', '~lock:*', '&lock:client:*', '+@all', '-hset'];
    await redis.admin.acl('SETUSER', 'locks', 'reset', ...rules);
    stage.url = redis.url.replace('//', '//locks:password@');
    const shop = await stage.application('shop-1');
    await shop.call('attempt', 'stock:42');
    await stage.shows('grep ERROR shop-1.log', 'ERROR');
    await stage.shows('npx nestjs-redis-locks doctor | grep -A1 permissions:', 'ACL SETUSER locks +hset');
    await stage.shows(FAILED, /\} 1/);
    await stage.shows('npx nestjs-redis-locks ls', 'No lock is held');
  },
};

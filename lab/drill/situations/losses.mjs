import { FAILED } from '../stage.mjs';

/** Situations in which a lock is lost. */
export const LOSSES = {
  async 'The old pod stopped before its work was done'(stage) {
    const shop = await stage.holder();
    await shop.call('shutDown');
    await stage.shows('grep stock:42 shop-1.log', 'the application has shut down');
    // Nest has closed the server before the loss is counted.
    await stage.shows('curl -sS http://shop-1/metrics', 'Failed to connect');
  },

  async 'The old pod does not end'(stage) {
    const options = { forceCloseConnections: false, drainTimeout: '30s', shutdownTimeout: '100ms' };
    const shop = await stage.application('shop-1', options);
    stage.hangs('shop-1');
    await stage.named('shop-1');
    await shop.call('beginToShutDown');
    await stage.shows("grep 'open requests' shop-1.log", "'stock:42'");
    await stage.shows('npx nestjs-redis-locks ls stock:42', 'shop-1');
    await stage.shows('grep lock.lost shop-1.log', '"lossReason":"shutdown"');
    await stage.shows('npx nestjs-redis-locks inspect stock:42', 'is free');
  },

  async 'Redis evicted the lock'(stage, redis) {
    await stage.holder();
    await redis.admin.config('SET', 'maxmemory-policy', 'allkeys-random');
    await redis.admin.config('SET', 'maxmemory', '1');
    await redis.admin.set('another', 'application').catch(() => undefined);
    await stage.until('an eviction', async () => (await redis.admin.exists('lock:state:{stock:42}')) === 0);
    await redis.admin.config('SET', 'maxmemory', '0');
    await stage.shows('grep lock.lost shop-1.log', '"lossReason":"unknown"');
    await stage.shows('npx nestjs-redis-locks doctor | grep -A1 evict', 'since Redis has started; locks');
  },

  async 'The lease ended while the process was stalled'(stage) {
    const shop = await stage.holder();
    const other = await stage.application('shop-2');
    shop.pause();
    await other.call('hold', 'stock:42', { waitTimeout: '1m' });
    shop.resume();
    await stage.shows('grep stock:42 shop-1.log', 'its lease ended');
    await stage.shows('curl -s http://shop-1/metrics | grep lost_total', /\} 1/);
    await stage.shows('curl -s http://shop-1/metrics | grep watchdog_lag', /\} [6-9]/);
    await stage.shows('npx nestjs-redis-locks inspect stock:42', '1 holding');
    await stage.shows('Dashboard of shop-1', 'shop-2', 'its lease ended');
  },

  async 'A failover'(stage, master) {
    const replica = await stage.server();
    await replica.admin.replicaof(master.host, master.port);
    const shop = await stage.application('shop-1');
    // Its lease outlives the situation, since nothing can renew it.
    await shop.call('hold', 'stock:42', { expire: '1h' });
    await stage.named('shop-1');
    await master.replicated();
    await replica.admin.replicaof('NO', 'ONE');
    await master.admin.replicaof(replica.host, replica.port);
    await stage.until('the old master follows', async () =>
      (await master.admin.info('replication')).includes('master_link_status:up'),
    );
    await shop.call('attempt', 'stock:43');
    await stage.shows('grep ERROR shop-1.log', 'READONLY');
    await stage.shows('npx nestjs-redis-locks doctor | grep -A1 role:', 'a replica of');
    await stage.shows(FAILED, /\} 1/);
    await stage.shows('npx nestjs-redis-locks ls', 'stock:42', '59m');
  },

  async 'Redis forgot the lock'(stage, redis) {
    await stage.holder({ renewedLease: '1m' });
    await stage.opens('shop-1');
    await redis.kill();
    await stage.shows('Dashboard of shop-1', 'No data from Redis', 'was ');
    await redis.start({ empty: true });
    await stage.shows('grep stock:42 shop-1.log', 'Redis does not know it any more');
    await stage.shows('npx nestjs-redis-locks ls', 'No lock is held');
    await stage.shows('npx nestjs-redis-locks doctor | grep -A1 persistence', 'no append-only file');
    await stage.shows('Dashboard of shop-1', 'No lock is held', 'Redis does not know it any more');
  },

  async 'Redis is full'(stage, redis) {
    const shop = await stage.holder();
    await stage.named('shop-1');
    await redis.admin.config('SET', 'maxmemory', '1');
    await shop.call('attempt', 'stock:43');
    await stage.shows('grep ERROR shop-1.log', 'OOM');
    await stage.shows('npx nestjs-redis-locks doctor | grep -A1 memory:', 'raise maxmemory');
    await stage.shows(FAILED, /\} 1/);
    // Existing holds stay.
    await stage.shows('npx nestjs-redis-locks ls', 'stock:42');
  },
};

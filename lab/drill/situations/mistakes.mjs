import { FAILED } from '../stage.mjs';
import { SkewedMaster } from '../../testbed/clocks/skewed-master.mjs';

/** Situations that a person has caused, or a machine's clock. */
export const MISTAKES = {
  async 'A clock jumped'(stage, redis) {
    const master = await new SkewedMaster(redis).listen();
    try {
      await stage.holder({ connection: master.url });
      stage.url = master.url;
      master.setSkew(60_000);
      await stage.shows('grep stock:42 shop-1.log', 'Redis does not know it any more');
      await stage.shows('npx nestjs-redis-locks doctor | grep -A1 clock:', 'ahead');
      await stage.shows('Dashboard of shop-1', 'Lost 1', 'Redis does not know it any more');
    } finally {
      await master.close();
    }
  },

  async 'A value was written by hand'(stage, redis) {
    await redis.admin.set('lock:state:{stock:42}', 'mine');
    const shop = await stage.application('shop-1');
    await shop.call('attempt', 'stock:42');
    await stage.shows('grep ERROR shop-1.log', 'WRONGTYPE');
    await stage.shows('npx nestjs-redis-locks ls', '"stock:42" is skipped');
    await stage.shows('npx nestjs-redis-locks inspect stock:42', 'is not a lock');
    await stage.shows('Dashboard of shop-1', '"stock:42"');
    await stage.shows(FAILED, /\} 1/);
  },

  async 'Every key looks free'(stage) {
    await stage.holder({ keyPrefix: 'shop:lock' });
    await stage.shows('curl -s http://shop-1/metrics | grep redis_lock_held', /\} 1/);
    await stage.shows('grep prefix shop-1.log', "prefix 'shop:lock'");
    await stage.shows('npx nestjs-redis-locks ls', "No lock is held with the prefix 'lock'");
    await stage.shows('npx nestjs-redis-locks doctor | grep -A1 clients', "'shop:lock'");
    await stage.shows('npx nestjs-redis-locks ls -p shop:lock', 'stock:42');
    await stage.shows('Dashboard of shop-1', 'stock:42');
    await stage.shows("npx nestjs-redis-locks ls 'order:*' -p shop:lock", "No lock matches 'order:*' (1 held).");
  },
};

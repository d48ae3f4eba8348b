import { Verrou } from '@verrou/core';
import { redisStore } from '@verrou/core/drivers/redis';

export default {
  title: '@verrou/core',
  module: '@verrou/core',
  waits: true,
  variants: {
    defaults: { about: 'defaults: tries every 250 ms, without a limit; lease 30 s' },
    tuned: { about: '`retry: { delay: 10 }`', settings: { retry: { delay: 10 } }, only: 'waiting' },
    once: { hidden: true, settings: { retry: { attempts: 1 } } },
  },

  async open({ connection, settings }) {
    const redis = connection.redis();
    const driver = redisStore({ connection: redis });
    const verrou = new Verrou({ default: 'redis', stores: { redis: { driver } } });
    return {
      async acquire(key) {
        const lock = verrou.createLock(key);
        return (await lock.acquire(settings)) ? lock : undefined;
      },
      release: (lock) => lock.release(),
      async close() {
        redis.disconnect();
      },
    };
  },
};

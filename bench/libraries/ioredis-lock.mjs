import { createLock, LockAcquisitionError } from '@microfleet/ioredis-lock';

export default {
  title: '@microfleet/ioredis-lock',
  module: '@microfleet/ioredis-lock',
  waits: true,
  variants: {
    defaults: { about: 'defaults: tries 7 times, every 50 to 60 ms; lease 10 s' },
    tuned: {
      about: '`retries: Infinity`, `delay: 10`',
      settings: { retries: Infinity, delay: 10 },
      only: 'waiting',
    },
    once: { hidden: true, settings: { retries: 0 } },
  },

  async open({ connection, settings }) {
    const redis = connection.redis();
    return {
      async acquire(key) {
        try {
          return await createLock(redis, settings).acquire(key);
        } catch (error) {
          // Errors of Redis have the same class and another text.
          if (error instanceof LockAcquisitionError && error.message.startsWith('Could not acquire')) return undefined;
          throw error;
        }
      },
      release: (lock) => lock.release(),
      async close() {
        redis.disconnect();
      },
    };
  },
};

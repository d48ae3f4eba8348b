import { Mutex, Semaphore, TimeoutError } from 'redis-semaphore';

export default {
  title: 'redis-semaphore',
  module: 'redis-semaphore',
  waits: true,
  modes: { permit: { label: 'redis-semaphore `Semaphore`', variants: ['defaults', 'eager'] } },
  variants: {
    defaults: { about: 'defaults: `Mutex`, tries every 10 ms for 10 s, lease 10 s with renewal' },
    eager: {
      about: '`retryInterval: 1`: as fast as possible',
      settings: { retryInterval: 1 },
      only: 'waiting',
    },
    once: { hidden: true, settings: { acquireAttemptsLimit: 1 } },
  },

  async open({ connection, settings }) {
    const redis = connection.redis();
    return {
      async acquire(key, { permits } = {}) {
        // A mutex is one holder: its object cannot wait twice.
        const mutex = permits ? new Semaphore(redis, key, permits, settings) : new Mutex(redis, key, settings);
        try {
          await mutex.acquire();
          return mutex;
        } catch (error) {
          if (error instanceof TimeoutError) return undefined;
          throw error;
        }
      },
      release: (mutex) => mutex.release(),
      async close() {
        redis.disconnect();
      },
    };
  },
};

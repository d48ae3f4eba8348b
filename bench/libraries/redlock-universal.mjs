import { createLock, IoredisAdapter, LockAcquisitionError } from 'redlock-universal';

export default {
  title: 'redlock-universal',
  module: 'redlock-universal',
  waits: true,
  variants: {
    defaults: { about: 'defaults: tries 4 times, every 100 ms; lease 30 s' },
    tuned: {
      about: "`performance: 'lean'`, `retryAttempts: 1e6`, `retryDelay: 10`",
      settings: { performance: 'lean', retryAttempts: 1_000_000, retryDelay: 10 },
    },
    once: { hidden: true, settings: { retryAttempts: 0 } },
  },

  async open({ connection, settings }) {
    const redis = connection.redis();
    const adapter = new IoredisAdapter(redis);
    // One object for each key serves all its holders.
    let last;
    const lockOf = (key) =>
      last?.key === key ? last : (last = { key, lock: createLock({ adapter, key, ...settings }) });
    return {
      async acquire(key) {
        const { lock } = lockOf(key);
        try {
          return { lock, held: await lock.acquire() };
        } catch (error) {
          if (error instanceof LockAcquisitionError && /already held/.test(error.cause?.message)) {
            return undefined;
          }
          throw error;
        }
      },
      async release({ lock, held }) {
        if (!(await lock.release(held))) throw new Error(`${held.key} had been lost`);
      },
      async close() {
        redis.disconnect();
      },
    };
  },
};

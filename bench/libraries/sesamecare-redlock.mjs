import sesamecare from '@sesamecare-oss/redlock';
import { isContended } from './redlock.mjs';

const { Redlock, ExecutionError } = sesamecare;
const LEASE = 30_000;

export default {
  title: '@sesamecare-oss/redlock',
  module: '@sesamecare-oss/redlock',
  waits: true,
  variants: {
    defaults: { about: 'defaults: tries 11 times, every 200 ± 100 ms' },
    tuned: {
      about: '`retryCount: -1` (for ever), `retryDelay: 10`, `retryJitter: 5`',
      settings: { retryCount: -1, retryDelay: 10, retryJitter: 5 },
      only: 'waiting',
    },
    once: { hidden: true, settings: { retryCount: 0 } },
  },

  async open({ connection, settings }) {
    const redis = connection.redis();
    const redlock = new Redlock([redis], settings);
    return {
      async acquire(key) {
        try {
          return await redlock.acquire([key], LEASE);
        } catch (error) {
          if (error instanceof ExecutionError && (await isContended(error))) return undefined;
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

import Redlock, { ExecutionError } from 'redlock';

const LEASE = 30_000;

/** The variants of redlock and of its fork, which has the same options. */
export const VARIANTS = {
  defaults: { about: 'defaults: tries 11 times, every 200 ± 100 ms' },
  tuned: {
    about: '`retryCount: -1` (without a limit), `retryDelay: 10`, `retryJitter: 5`',
    settings: { retryCount: -1, retryDelay: 10, retryJitter: 5 },
    only: 'waiting',
  },
  once: { hidden: true, settings: { retryCount: 0 } },
};

export default {
  title: 'redlock',
  module: 'redlock',
  waits: true,
  variants: {
    ...VARIANTS,
    eager: {
      about: '`retryCount: -1`, `retryDelay: 1`, `retryJitter: 0`: as fast as possible',
      settings: { retryCount: -1, retryDelay: 1, retryJitter: 0 },
      only: 'waiting',
    },
  },

  open: openWith({ Redlock, ExecutionError }),
};

/** For redlock and its fork, which have the same classes. */
export function openWith({ Redlock, ExecutionError }) {
  return async ({ connection, settings }) => {
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
  };
}

/** The library says the same when Redis fails, so its attempts are looked at. */
async function isContended({ attempts }) {
  const last = await attempts.at(-1);
  return [...last.votesAgainst.values()].every(({ name }) => name === 'ResourceLockedError');
}

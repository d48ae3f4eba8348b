import type { RedisOptions } from 'ioredis';

/** How a connection of the program behaves, unless its options say otherwise: whoever looks at it hears of failures soon. */
export const clientOptions = (timeout: number): RedisOptions => ({
  connectTimeout: timeout,
  commandTimeout: timeout,
  disconnectTimeout: 100,
  maxRetriesPerRequest: 1,
  // A user who may not say INFO gets an answer all the same.
  enableReadyCheck: false,
  connectionName: 'nestjs-redis-locks-cli',
});

/** After how many ms a connection that could not be made is tried again. */
export const retryDelay = (times: number): number => Math.min(200 * times, 2_000);

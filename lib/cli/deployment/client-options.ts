import type { RedisOptions } from 'ioredis';

/** The options of the program's connections, which the user's options override. Failures are reported soon. */
export const clientOptions = (timeout: number): RedisOptions => ({
  connectTimeout: timeout,
  commandTimeout: timeout,
  disconnectTimeout: 100,
  maxRetriesPerRequest: 1,
  // A user who may not call INFO gets answers, too.
  enableReadyCheck: false,
  connectionName: 'nestjs-redis-locks-cli',
});

/** The delay in ms before the next attempt to connect. */
export const retryDelay = (times: number): number => Math.min(200 * times, 2_000);

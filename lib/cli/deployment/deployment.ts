import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { lacksCommand, storeFailure } from '../../store/redis/store-failure.js';
import type { LockConnectionOption } from '../../module/redis-lock.connection.js';
import type { ClusterAddress } from '../../store/redis/passed-client.js';

/** The address of Redis as written on a command line: a URL, or the module's connection as JSON. */
export type WrittenConnection = string | RedisOptions | ClusterAddress;

/** A server that keeps locks. */
export interface Server {
  readonly client: Redis;
  /** Only the address: other options may be secret. */
  readonly address: string;
  /** Whether the server serves the slot of a name. Outside of a Cluster it serves every name. */
  serves(name: string): boolean;
}

/** The servers that a command line names. */
export interface Deployment {
  /** A server behind Sentinels is also one server. */
  readonly kind: 'one server' | 'redlock' | 'cluster';
  /** The module's option `connection`. `close()` closes it. */
  readonly connection: LockConnectionOption;
  /** The current servers. Of a Cluster, the masters. */
  servers(): readonly Server[];
  /** @throws Error if too few servers can be reached. The message names addresses and no secrets. */
  connect(): Promise<void>;
  close(): void;
}

/** Rejects after `ms`, to limit the time for an answer. */
async function after(ms: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref());
  throw new Error(`no answer within ${ms} ms`);
}

/** The time of a server, in ms. */
export async function timeOf(client: Redis): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}

/** Whether a server does not know a command, or not inside scripts. */
export const isUnknown = (error: unknown): boolean => error instanceof Error && lacksCommand(error);

/** Whether a server denies its user a command, or does not know it. */
export const isRefusal = (error: unknown): error is Error =>
  error instanceof Error && (isUnknown(error) || LACKS_RIGHT.test(error.message));

/** Whether a server has replied with an error, as opposed to a lost connection. */
export const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

/** What a server answers; `undefined` if it answers with such an error. */
export const answerUnless = <T>(isExpected: (error: unknown) => boolean, answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error: unknown) => {
    if (isExpected(error)) return undefined;
    throw error;
  });

/** The codes of a missing right, and what Redis 7.0 and Valkey say without a code inside scripts. */
const LACKS_RIGHT = /\bNOPERM\b|user executing the script can't|ACL failure in script/;

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

/**
 * Connects a client within a time. `connect` may succeed although the server has refused the database: ioredis then continues in
 * database 0, and only emits the error.
 * @throws Error that begins with the name of the server, with the last failure of a connection as its reason
 */
export async function connectWithin(
  timeout: number,
  { client, name, connect }: { client: Redis | Cluster; name: string; connect: () => Promise<unknown> },
): Promise<void> {
  let last: Error | undefined;
  // ioredis hides the reason why no node of a Cluster could be asked.
  const remember = (error: Error & { lastNodeError?: Error }): void => void (last = error.lastNodeError ?? error);
  client.on('error', remember);
  try {
    await Promise.race([connect(), after(timeout)]);
    if (isReply(last)) throw last;
  } catch (error) {
    const failure = storeFailure(last ?? error);
    throw new Error(`${name}: ${failure.message}`, { cause: failure });
  } finally {
    client.off('error', remember);
  }
}

/** The delay in ms before the next attempt to connect. */
export const retryDelay = (times: number): number => Math.min(200 * times, 2_000);

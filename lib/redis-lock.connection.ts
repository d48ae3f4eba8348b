import type { Redis, RedisOptions } from 'ioredis';
import { isLockConfigError, LockConfigError } from './errors/index.js';

/** One Redis: a URL, ioredis options, or a client. */
export type RedisConnectionOption = string | RedisOptions | Redis;

const REDIS_URL = /^rediss?:\/\//i;

/** Fewer masters do not survive the loss of one. */
const FEWEST_MASTERS = 3;

/**
 * Checks where Redis is, one or several.
 * @throws LockConfigError
 */
export function readConnections(connection: unknown): RedisConnectionOption | readonly RedisConnectionOption[] {
  if (!Array.isArray(connection)) return readConnection(connection);
  const masters = connection.map((each, i) => readMaster(each, i));
  if (masters.length < FEWEST_MASTERS) {
    throw new LockConfigError(
      `connection is an array of ${masters.length}: Redlock takes ${FEWEST_MASTERS} or more independent masters, ` +
        'so that a majority is left when one fails; for one server write it without the array.',
    );
  }
  masters.forEach((each, i) => {
    const first = masters.indexOf(each);
    if (first === i) return;
    throw new LockConfigError(
      `connection[${i}] is the same as connection[${first}]: each master has to be a server of its own.`,
    );
  });
  return Object.freeze(masters);
}

/** Names the one of several that cannot be used. */
function readMaster(connection: unknown, place: number): RedisConnectionOption {
  try {
    return readConnection(connection);
  } catch (error) {
    if (!isLockConfigError(error)) throw error;
    throw new LockConfigError(`connection[${place}]: ${error.message}`);
  }
}

function readConnection(connection: unknown): RedisConnectionOption {
  if (typeof connection === 'string') return readConnectionUrl(connection);
  if (connection === undefined) {
    throw new LockConfigError(
      'connection is undefined: is a variable such as process.env.REDIS_URL not set? ' +
        'Leave the option out for a Redis on this machine.',
    );
  }
  if (Array.isArray(connection)) {
    throw new LockConfigError('connection is an array within an array: give the masters one beside the other.');
  }
  if (typeof connection !== 'object' || connection === null) {
    throw new LockConfigError(
      "connection must be a URL such as 'redis://127.0.0.1:6379', ioredis options, or a client.",
    );
  }
  if ('isCluster' in connection && connection.isCluster === true) {
    throw new LockConfigError('connection is a Cluster, which is not supported yet: give a client of one server.');
  }
  return connection;
}

/** Passwords stay out of messages, so the URL itself is not repeated. */
function readConnectionUrl(url: string): string {
  if (!REDIS_URL.test(url)) {
    throw new LockConfigError(
      "connection must be a URL with redis:// or rediss:// (TLS), such as 'redis://user:password@host:6379/0'; " +
        "for a socket write { path: '/tmp/redis.sock' }.",
    );
  }
  if (!URL.canParse(url)) {
    throw new LockConfigError(
      "connection is no valid URL; write 'redis://user:password@host:6379/0', special characters percent-encoded.",
    );
  }
  return url;
}

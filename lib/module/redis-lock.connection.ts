import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';
import { isRedisUrl } from '../common/credentials.js';
import { oneLine, quote } from '../common/describe.js';
import { refuseHiddenOptions, refuseHoles, refuseOtherKinds, refuseUnreadable } from '../options/plain-options.js';
import { isLockConfigError, LockConfigError } from '../errors/index.js';
import { containsRoleOfState } from '../keys/redis-keys.js';

/** One Redis: a URL, ioredis options (also those for Sentinels), or a client. */
export type RedisConnectionOption = string | RedisOptions | Redis;

/** A Redis Cluster: some of its nodes and the ioredis options of a Cluster, or a client. */
export type RedisClusterOption = { cluster: readonly ClusterNode[]; options?: ClusterOptions } | Cluster;

/** Where the locks are: one Redis, a Cluster, or several independent masters. */
export type LockConnectionOption = RedisConnectionOption | RedisClusterOption | readonly RedisConnectionOption[];

/** With fewer masters, the loss of one leaves no majority. */
const FEWEST_MASTERS = 3;

/**
 * Checks where Redis is, one or several.
 * @throws LockConfigError
 */
export function readConnections(connection: unknown): LockConnectionOption {
  let read: LockConnectionOption | undefined;
  refuseUnreadable('connection', () => (read = readAll(connection)));
  return read as LockConnectionOption;
}

function readAll(connection: unknown): LockConnectionOption {
  if (isClusterClient(connection)) return readClusterClient(connection);
  if (isClusterAddress(connection)) return readClusterAddress(connection);
  if (!Array.isArray(connection)) return readConnection(connection);
  refuseHoles('connection', connection);
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
      `connection[${i}] is the same as connection[${first}]: each master must be a separate server.`,
    );
  });
  return Object.freeze(masters);
}

/** Reads one master of several; its errors name the position. */
function readMaster(connection: unknown, place: number): RedisConnectionOption {
  if (isClusterClient(connection) || isClusterAddress(connection)) {
    throw new LockConfigError(
      `connection[${place}] is a Cluster: Redlock takes independent masters; for a Cluster write it without the array.`,
    );
  }
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
    throw new LockConfigError('connection is an array within an array: write all masters in one array.');
  }
  if (typeof connection !== 'object' || connection === null) {
    throw new LockConfigError(
      "connection must be a URL such as 'redis://127.0.0.1:6379', ioredis options, or a client.",
    );
  }
  if (!('duplicate' in connection)) refuseHiddenWithin('connection', connection);
  refuseRolePrefix((connection as RedisOptions & { options?: RedisOptions }).options ?? connection);
  return connection;
}

/** Refuses a prefix of ioredis behind which the index of many holds would get names without it. */
function refuseRolePrefix({ keyPrefix }: { keyPrefix?: unknown }): void {
  if (typeof keyPrefix !== 'string' || !containsRoleOfState(keyPrefix)) return;
  throw new LockConfigError(
    `the keyPrefix of the ioredis client is ${quote(keyPrefix)}; ':state' begins the name of a lock: write another word, ` +
      "such as ':states'.",
  );
}

/** @throws LockConfigError for options that ioredis would not see, because it copies its options */
function refuseHidden(label: string, options: object): void {
  if (options instanceof URL) throw new LockConfigError(`${label} is a URL object: write its text, url.href.`);
  refuseOtherKinds(label, options);
  refuseHiddenOptions(label, options);
}

/** As `refuseHidden`, also for the nested options of ioredis. */
function refuseHiddenWithin(label: string, options: object): void {
  refuseHidden(label, options);
  const { tls, sentinelTLS, sentinels } = options as RedisOptions;
  for (const [name, each] of Object.entries({ tls, sentinelTLS })) {
    if (isObject(each)) refuseHidden(`${label}.${name}`, each);
  }
  if (!Array.isArray(sentinels)) return;
  refuseHoles(`${label}.sentinels`, sentinels);
  sentinels.forEach((each: unknown, i) => isObject(each) && refuseHidden(`${label}.sentinels[${i}]`, each));
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isClusterClient = (connection: unknown): connection is Cluster =>
  isObject(connection) && 'isCluster' in connection && connection.isCluster === true;

const isClusterAddress = (connection: unknown): connection is { cluster: unknown; options?: unknown } =>
  isObject(connection) && 'cluster' in connection && !('duplicate' in connection);

function readClusterAddress(written: { cluster: unknown; options?: unknown }): RedisClusterOption {
  refuseHidden('connection', written);
  const { cluster, options, ...rest } = written;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new LockConfigError(
      `connection.${oneLine(unknown)} is not known beside connection.cluster: write options for each node in ` +
        'connection.options.redisOptions, and other options of ioredis in connection.options.',
    );
  }
  const isNode = (node: unknown): node is ClusterNode =>
    ['string', 'number', 'object'].includes(typeof node) && node !== null;
  if (Array.isArray(cluster)) refuseHoles('connection.cluster', cluster);
  if (!Array.isArray(cluster) || cluster.length === 0 || !cluster.every(isNode)) {
    throw new LockConfigError(
      "connection.cluster must be a list of nodes, such as [{ host: 'a', port: 6379 }, 'redis://b:6379'].",
    );
  }
  cluster.forEach((node: ClusterNode, i) => {
    if (typeof node === 'string' && isRedisUrl(node)) readConnectionUrl(node);
    if (isObject(node)) refuseHiddenWithin(`connection.cluster[${i}]`, node);
  });
  if (options !== undefined && !isObject(options)) {
    throw new LockConfigError(
      'connection.options must be an object of the Cluster options of ioredis, such as { natMap }.',
    );
  }
  const read = (options ?? {}) as ClusterOptions;
  refuseHidden('connection.options', read);
  const { redisOptions } = read as { redisOptions?: unknown };
  if (redisOptions !== undefined) {
    if (!isObject(redisOptions)) {
      throw new LockConfigError(
        'connection.options.redisOptions must be an object of the ioredis options for each node, such as { password }.',
      );
    }
    refuseHiddenWithin('connection.options.redisOptions', redisOptions);
  }
  refusePrefix(read);
  return { cluster, options: read };
}

function readClusterClient(connection: Cluster): Cluster {
  refusePrefix(connection.options);
  return connection;
}

/** Also refuses braces: they would put all locks in one slot, and their messages in others. */
function refusePrefix({ keyPrefix, redisOptions }: ClusterOptions): void {
  const prefix = keyPrefix ?? redisOptions?.keyPrefix ?? '';
  refuseRolePrefix({ keyPrefix: prefix });
  if (!prefix.includes('{')) return;
  throw new LockConfigError(
    `the keyPrefix of the Cluster's client is ${quote(prefix)}, which would put all locks in one slot: leave the braces out.`,
  );
}

/** The messages do not repeat the URL, because it may contain a password. */
function readConnectionUrl(url: string): string {
  if (!isRedisUrl(url)) {
    throw new LockConfigError(
      "connection must be a URL such as 'redis://user:password@host:6379/0', with redis:// or rediss:// (TLS); " +
        "for a socket write { path: '/tmp/redis.sock' }.",
    );
  }
  // `URL` would skip it, and ioredis would not.
  if (/\s/.test(url)) {
    throw new LockConfigError(
      'connection is a URL with white space in it: trim the text, such as process.env.REDIS_URL.trim(), and write %20 for a ' +
        'space in a password.',
    );
  }
  if (!URL.canParse(url)) {
    throw new LockConfigError(
      "connection is no valid URL; write 'redis://user:password@host:6379/0', special characters percent-encoded.",
    );
  }
  const { pathname, search, hash } = new URL(url);
  // If a password is not encoded, the URL ends too early: the rest of the password would become a port, a path or a host, and
  // be printed.
  if (`${pathname}${search}${hash}`.includes('@')) {
    throw new LockConfigError(
      'connection is a URL with an @ after its host: percent-encode special characters in user and password, such as ' +
        '%40 for @, %2F for /, %3F for ? and %23 for #.',
    );
  }
  return url;
}

import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';
import { isRedisUrl } from '../common/credentials.js';
import { describe, oneLine, quote } from '../common/describe.js';
import { refuseHiddenOptions, refuseHoles, refuseOtherKinds } from '../options/plain-options.js';
import { isLockConfigError, LockConfigError } from '../errors/index.js';
import type { LineOptions } from '../store/redis/ioredis-lines.js';
import {
  isNodeRedisClient,
  isNodeRedisCluster,
  type NodeRedisClient,
  type NodeRedisCluster,
} from '../store/redis/node-redis-lines.js';
import { isNodeRedisSentinel, type NodeRedisSentinel } from '../store/redis/node-redis-sentinel.js';
import { isClient, isClusterClient } from '../store/redis/passed-client.js';

/** One Redis: a URL, ioredis options (also those for Sentinels), or a client of ioredis or node-redis. */
export type RedisConnectionOption = string | LineOptions | Redis | NodeRedisClient | NodeRedisSentinel;

/** A Redis Cluster: some of its nodes and the ioredis options of a Cluster, or a client of ioredis or node-redis. */
export type RedisClusterOption =
  { cluster: readonly ClusterNode[]; options?: ClusterOptions } | Cluster | NodeRedisCluster;

/** Where the locks are: one Redis, a Cluster, or several independent masters. */
export type LockConnectionOption = RedisConnectionOption | RedisClusterOption | readonly RedisConnectionOption[];

/** With fewer masters, the loss of one leaves no majority. */
const FEWEST_MASTERS = 3;

/**
 * Checks where Redis is, one or several.
 * @throws LockConfigError
 */
export function readConnections(connection: unknown): LockConnectionOption {
  if (isClusterClient(connection) || isNodeRedisCluster(connection)) return connection;
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
  if (isClusterClient(connection) || isNodeRedisCluster(connection) || isClusterAddress(connection)) {
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
      'connection is undefined: is a variable such as process.env.REDIS_URL not set, or a property missing? ' +
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
  if (isClient(connection) || isNodeRedisClient(connection) || isNodeRedisSentinel(connection)) return connection;
  refuseOwner(connection);
  refuseOtherClients(connection);
  refuseHiddenWithin('connection', connection);
  refuseUnknown('connection', connection);
  const { db, credentials, username, password } = connection as Record<string, unknown>;
  if (credentials !== undefined && typeof credentials !== 'function') {
    throw new LockConfigError(
      `connection.credentials is ${describe(credentials)}: write a function that returns { username, password, expiresAt }.`,
    );
  }
  if (credentials !== undefined && (username !== undefined || password !== undefined)) {
    throw new LockConfigError(
      'connection has credentials beside username or password: leave these out, and return them from the function.',
    );
  }
  if (db !== undefined && db !== null) refuseNoDatabase('connection.db', db);
  return connection;
}

/** Options of other packages, and what to write in their place. */
const WRITE_INSTEAD: Readonly<Record<string, string>> = {
  url: "write the URL itself: connection: 'redis://…'",
  socket: 'it is an option of the package redis; write connection: { host, port }',
  nodes: 'for a Cluster write connection: { cluster: [{ host, port }, …] }',
  rootNodes: 'it is an option of the package redis; for a Cluster write connection: { cluster: [{ host, port }, …] }',
  startupNodes: 'for a Cluster write connection: { cluster: [{ host, port }, …] }',
  redisOptions: 'for a Cluster write connection: { cluster: [{ host, port }, …], options: { redisOptions } }',
  config: 'write what it contains: connection: { host, port }',
  connection: 'write what it contains: connection: { host, port }',
  options: 'write what it contains: connection: { host, port }',
  database: 'write connection: { db }',
  user: 'write connection: { username }',
  pass: 'write connection: { password }',
};

/** The options of ioredis 5 and 6 for one server. */
const OPTIONS_OF_IOREDIS: ReadonlySet<string> = new Set([
  ...['host', 'port', 'path', 'family', 'tls', 'username', 'password', 'credentials', 'db', 'protocol', 'replyMapping'],
  ...['sentinels', 'name', 'role', 'sentinelUsername', 'sentinelPassword', 'sentinelTLS', 'sentinelCommandTimeout'],
  ...['sentinelRetryStrategy', 'sentinelReconnectStrategy', 'sentinelMaxConnections', 'updateSentinels'],
  ...['enableTLSForSentinelMode', 'failoverDetector', 'preferredSlaves', 'natMap'],
  ...['Connector', 'connectTimeout', 'disconnectTimeout', 'commandTimeout', 'socketTimeout', 'keepAlive', 'noDelay'],
  ...['blockingTimeout', 'blockingTimeoutGrace', 'connectionName', 'disableClientInfo', 'clientInfoTag'],
  ...['retryStrategy', 'reconnectOnError', 'maxRetriesPerRequest', 'maxLoadingRetryTime', 'autoResubscribe'],
  ...['autoResendUnfulfilledCommands', 'enableOfflineQueue', 'enableReadyCheck', 'lazyConnect', 'readOnly'],
  ...['stringNumbers', 'keyPrefix', 'monitor', 'enableAutoPipelining', 'autoPipeliningIgnoredCommands'],
  ...['offlineQueue', 'commandQueue', 'scripts', 'himportFieldsets', 'showFriendlyErrorStack'],
]);

/**
 * ioredis ignores options that it does not know, and connects to this machine if they hold the address. A `Connector`
 * of the application may have options of its own.
 */
function refuseUnknown(label: string, written: object): void {
  if ('Connector' in written) return;
  const unknown = Object.keys(written).find((name) => !OPTIONS_OF_IOREDIS.has(name));
  if (unknown === undefined) return;
  const instead = Object.hasOwn(WRITE_INSTEAD, unknown) ? WRITE_INSTEAD[unknown] : 'leave it out';
  throw new LockConfigError(`${label}.${oneLine(unknown)} is no option of ioredis: ${instead}.`);
}

/** What node-redis makes besides `createClient`: what it is, what to write instead, and the properties that tell it. */
const OTHER_NODE_REDIS: ReadonlyArray<readonly [what: string, instead: string, marks: readonly string[]]> = [
  [
    'a pool of node-redis (createClientPool)',
    'connection: createClient(options) with the options of the pool',
    ['totalClients', 'execute'],
  ],
  [
    'a client of the package redis (node-redis) before version 5',
    "connection: 'redis://…' or { host, port }, or pass a client of node-redis 5 or 6",
    ['isOpen', 'sendCommand'],
  ],
];

/** Refuses an object that has a client, such as a service or a store of another package. */
function refuseOwner(connection: object): void {
  const isOfClient = (name: string): boolean => {
    const value: unknown = name.startsWith('_') ? undefined : Object.getOwnPropertyDescriptor(connection, name)?.value;
    return [isClient, isClusterClient, isNodeRedisClient, isNodeRedisCluster, isNodeRedisSentinel].some((isOne) =>
      isOne(value),
    );
  };
  const property = Object.getOwnPropertyNames(connection).find(isOfClient);
  const returns = typeof (connection as { getClient?: unknown }).getClient === 'function';
  if (property === undefined && !returns) return;
  throw new LockConfigError(
    `connection is ${describe(connection)}, which has a client: write connection: ` +
      `${property === undefined ? 'service.getClient()' : `object.${oneLine(property)}`}.`,
  );
}

/** Refuses clients of other packages, stubs, and services that wrap a client. */
function refuseOtherClients(connection: object): void {
  const methods = ['duplicate', 'sendCommand', 'evalsha', 'eval', 'on', 'get'];
  if (!methods.some((name) => typeof (connection as Record<string, unknown>)[name] === 'function')) return;
  const [what, instead] = OTHER_NODE_REDIS.find(([, , marks]) => marks.every((mark) => mark in connection)) ?? [
    `${describe(connection)} that is no client of ioredis or node-redis: a wrapper, a stub, or a client of another package`,
    "connection: 'redis://…' or { host, port }, or pass a client of ioredis or node-redis; in tests write store: 'memory'",
  ];
  throw new LockConfigError(
    `connection is ${what}. The library makes connections of its own, with the address and options of a client. ` +
      `Write ${instead}.`,
  );
}

/** @throws LockConfigError for a database that `SELECT` cannot take, which ioredis would replace by database 0 */
function refuseNoDatabase(label: string, db: unknown): void {
  if ((typeof db === 'number' && Number.isInteger(db) && db >= 0) || (typeof db === 'string' && /^\d+$/.test(db)))
    return;
  const given = typeof db === 'string' ? quote(db) : typeof db === 'number' ? String(db) : describe(db);
  throw new LockConfigError(
    `${label} is ${given}: the database must be a number from 0 on, as in redis://host:6379/0.`,
  );
}

/**
 * Refuses a `keyPrefix` of ioredis unless the module's prefix begins with it. ioredis would add it to the keys of one
 * process and not to those of another, which would then both hold a lock.
 * @throws LockConfigError
 */
export function refuseOtherPrefix(connection: LockConnectionOption, keyPrefix: string): void {
  for (const prefix of prefixesIn(connection)) {
    if (keyPrefix.startsWith(prefix)) continue;
    throw new LockConfigError(
      `connection has the client option keyPrefix ${quote(prefix)}, and the keys of locks begin with the keyPrefix of the ` +
        `module only: ${quote(keyPrefix)}. Write it there: keyPrefix: ${quote(prefix + keyPrefix)}.`,
    );
  }
}

/** The prefixes of ioredis in a connection. */
export function prefixesIn(connection: LockConnectionOption): string[] {
  if (typeof connection === 'string') return [new URL(connection).searchParams.get('keyPrefix') ?? ''].filter(Boolean);
  if (Array.isArray(connection)) return (connection as readonly RedisConnectionOption[]).flatMap(prefixesIn);
  if (isNodeRedisSentinel(connection)) return [connection._keyPrefix ?? ''].filter(Boolean);
  const { keyPrefix, redisOptions, defaults } = (
    isNodeRedisCluster(connection)
      ? connection._options
      : isClient(connection) ||
          isNodeRedisClient(connection) ||
          isClusterClient(connection) ||
          isClusterAddress(connection)
        ? connection.options
        : connection
  ) as ClusterOptions & { readonly defaults?: ClusterOptions };
  return [keyPrefix, redisOptions?.keyPrefix, defaults?.keyPrefix].filter(
    (prefix) => typeof prefix === 'string' && prefix !== '',
  ) as string[];
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

const isClusterAddress = (connection: unknown): connection is { cluster: unknown; options?: unknown } =>
  isObject(connection) && 'cluster' in connection && typeof connection.cluster !== 'function';

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
    if (!isObject(node)) return;
    refuseHiddenWithin(`connection.cluster[${i}]`, node);
    refuseUnknown(`connection.cluster[${i}]`, node);
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
    refuseUnknown('connection.options.redisOptions', redisOptions);
  }
  return { cluster, options: read };
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
  const { searchParams } = new URL(url);
  const db = decodeURIComponent(pathname).slice(1) || searchParams.get('db');
  if (db !== null) refuseNoDatabase('the database of connection', db);
  return url;
}

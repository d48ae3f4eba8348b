import type { ClusterNode, ClusterOptions } from 'ioredis';
import { isAddress, isRedisUrl } from '../common/credentials.js';
import { describe, quote } from '../common/describe.js';
import { isFunction, isObject, isText } from '../common/type-guards.js';
import { LockConfigError } from '../errors/index.js';
import { asWritten, hints, Options, read, refuse, related, type OptionReader } from '../options/option-readers.js';
import { isClusterOfClient, isOneClient, type ClusterClient, type OneClient } from '../store/redis/connect.js';
import type { LineOptions } from '../store/redis/ioredis-lines.js';

/** One Redis: a URL, ioredis options (also those for Sentinels), or a client of ioredis or node-redis. */
export type RedisConnectionOption = string | LineOptions | OneClient;

/** A Redis Cluster: some of its nodes and the ioredis options of a Cluster, or a client of ioredis or node-redis. */
export type RedisClusterOption = { cluster: readonly ClusterNode[]; options?: ClusterOptions } | ClusterClient;

/** Where the locks are: one Redis, a Cluster, or several independent masters. */
export type LockConnectionOption = RedisConnectionOption | RedisClusterOption | readonly RedisConnectionOption[];

/** With fewer masters, the loss of one leaves no majority. */
const FEWEST_MASTERS = 3;

/**
 * Checks where Redis is, one or several.
 * @throws LockConfigError
 */
export function readConnections(connection: unknown): LockConnectionOption {
  if (isClusterOfClient(connection)) return connection;
  // A client of one server has a method `cluster`.
  if (isObject(connection) && connection['cluster'] !== undefined && !isFunction(connection['cluster']))
    return CLUSTER.nested('connection', connection) as RedisClusterOption;
  if (!Array.isArray(connection)) return readConnection('connection', connection);
  if (connection.length < FEWEST_MASTERS) {
    throw new LockConfigError(
      `connection is an array of ${connection.length}: Redlock takes ${FEWEST_MASTERS} or more independent masters, ` +
        'so that a majority is left when one fails; for one server write a single connection.',
    );
  }
  const masters = listOfMasters('connection', connection);
  const again = connection.findIndex((master, i) => connection.indexOf(master) < i);
  if (again < 0) return Object.freeze(masters);
  throw new LockConfigError(
    `connection[${again}] is the same as an earlier one: each master must be a separate server.`,
  );
}

const readConnection: OptionReader<RedisConnectionOption> = (label, connection) => {
  if (typeof connection === 'string') return readUrl(label, connection);
  if (isOneClient(connection)) return connection;
  if (isObject(connection) && !isOfOtherPackage(connection)) return readServer(label, connection);
  const isUnset =
    ': is a variable such as process.env.REDIS_URL not set? Leave the option out for a Redis on this machine, or';
  const isNone = isObject(connection)
    ? ': not a pool, a wrapper, a stub, a service that has a client, a URL object, or a Cluster among independent masters. ' +
      "In tests write store: 'memory'"
    : '';
  throw new LockConfigError(
    `${label} is ${describe(connection)}${connection === undefined ? isUnset : ';'} write a URL such as ` +
      `'redis://127.0.0.1:6379', options such as { host, port }, or a client of ioredis, or of node-redis 5 or 6${isNone}.`,
  );
};
const listOfMasters = read.listOf(readConnection, '');

/** A service or an object that has a client, a client of another package, a stub, a wrapper or a URL. */
const isOfOtherPackage = (connection: Readonly<Record<string, unknown>>): boolean =>
  connection instanceof URL ||
  CLIENT_METHODS.some((name) => isFunction(connection[name])) ||
  Object.values(Object.getOwnPropertyDescriptors(connection)).some(
    ({ value }) => isOneClient(value) || isClusterOfClient(value),
  );
const CLIENT_METHODS = ['getClient', 'duplicate', 'sendCommand', 'evalsha', 'eval', 'on', 'get'];

/** ioredis takes a number for text, and connects to another port, or to this machine, if it cannot use what is written. */
const readPort = read.checked<number | string>(
  (port) => (typeof port === 'string' ? /^\d{1,5}$/.test(port) : Number.isInteger(port)) && port >= 0 && port <= 65_535,
  'a port: a whole number from 0 to 65535',
);
const readHost = read.checked<string>(
  (host) => isText(host) && !isAddress(host) && !/^[^:]*:\d+$/.test(host),
  "only the name or address of the server, such as 'redis.internal', or a URL in place of the options",
  describe,
);
const ADDRESS = { host: readHost, port: readPort };

/** Options of TLS and of a Sentinel. */
const NESTED = new Options(
  {
    ...ADDRESS,
    ...asWritten(['key', 'cert', 'ca', 'crl', 'pfx', 'passphrase', 'servername', 'rejectUnauthorized']),
  },
  {},
  true,
);
const readTls: OptionReader = (label, written) => (isObject(written) ? NESTED.nested(label, written) : written);
const listOfSentinels = read.listOf(NESTED.nested, "a list such as [{ host: 'a', port: 26379 }]", describe);

/** ioredis would replace a database that `SELECT` cannot take by database 0. */
const readDatabase = read.checked<string | number | null>(
  (db) => db === null || (!isObject(db) && /^\d+$/.test(String(db))),
  'the number of a database, from 0 on, as in redis://host:6379/0',
);

/** What to write in place of options of other packages. */
const OF_OTHERS = {
  url: "write the URL itself: connection: 'redis://…'",
  ssl: 'for TLS write rediss:// in a URL, or tls: {} among options',
  sentinelRootNodes: "for Sentinels write connection: { sentinels: [{ host, port }, …], name: 'mymaster' }",
  ...hints(
    ['nodes', 'rootNodes', 'startupNodes', 'clusterNodes', 'redisOptions'],
    () => 'for a Cluster write connection: { cluster: [{ host, port }, …], options: { redisOptions } }',
  ),
  cluster: 'write a Cluster without options of a server, and in no array: connection: { cluster: [{ host, port }, …] }',
  ...hints(['socket', 'config', 'connection', 'options'], () => 'write what it contains: connection: { host, port }'),
};

/** The options of ioredis 5 and 6 for one server. ioredis ignores all others, and connects to this machine without a `host`. */
export const SERVER_OPTIONS = new Options(
  {
    ...asWritten(
      ['family', 'username', 'password', 'protocol', 'replyMapping', 'name', 'role'],
      ['sentinelUsername', 'sentinelPassword', 'sentinelCommandTimeout', 'sentinelRetryStrategy'],
      ['sentinelReconnectStrategy', 'sentinelMaxConnections', 'updateSentinels', 'enableTLSForSentinelMode'],
      ['failoverDetector', 'preferredSlaves', 'natMap', 'Connector', 'connectTimeout', 'disconnectTimeout'],
      ['commandTimeout', 'socketTimeout', 'keepAlive', 'noDelay', 'blockingTimeout', 'blockingTimeoutGrace'],
      ['connectionName', 'disableClientInfo', 'clientInfoTag', 'retryStrategy', 'reconnectOnError'],
      ['maxRetriesPerRequest', 'maxLoadingRetryTime', 'autoResubscribe', 'autoResendUnfulfilledCommands'],
      ['enableOfflineQueue', 'enableReadyCheck', 'lazyConnect', 'readOnly', 'stringNumbers', 'keyPrefix', 'monitor'],
      ['enableAutoPipelining', 'autoPipeliningIgnoredCommands', 'offlineQueue', 'commandQueue', 'scripts'],
      ['himportFieldsets', 'showFriendlyErrorStack'],
    ),
    ...ADDRESS,
    path: read.checked<string>(
      (path) => isText(path) && !path.includes('://'),
      "the path of a socket: '/tmp/redis.sock'",
      describe,
    ),
    db: readDatabase,
    tls: readTls,
    sentinelTLS: readTls,
    sentinels: related(
      (label, written) => (written === null ? null : listOfSentinels(label, written)),
      (sentinels, { name }) =>
        sentinels !== null && !isText(name) && "stand without name: write name: 'mymaster', the name of their master",
    ),
    credentials: related(
      read.checked(isFunction, 'a function that returns { username, password, expiresAt }', describe),
      (_, { username, password }) =>
        (username !== undefined || password !== undefined) &&
        'stand beside username or password: leave these out, and return them from the function',
    ),
  },
  OF_OTHERS,
  true,
);

/** A `Connector` may have options of its own. */
const readServer: OptionReader<LineOptions> = (label, written) =>
  isObject(written) && Object.hasOwn(written, 'Connector')
    ? written
    : (SERVER_OPTIONS.nested(label, written) as LineOptions);

const readNode: OptionReader<ClusterNode> = (label, node) => {
  if (isObject(node)) return readServer(label, node);
  if (typeof node === 'number') return readPort(label, node);
  if (typeof node === 'string') return isRedisUrl(node) ? readUrl(label, node) : node;
  return refuse(label, node, "a node, such as { host: 'a', port: 6379 } or 'redis://a:6379'", describe);
};

/** The options of a Cluster of ioredis. Its types say if it gets another one. */
const CLUSTER_OPTIONS: Options<Readonly<Record<keyof ClusterOptions, OptionReader>>> = new Options(
  {
    redisOptions: readServer,
    ...asWritten(
      ['clusterRetryStrategy', 'clusterNodeRetryStrategy', 'enableOfflineQueue', 'enableReadyCheck', 'scaleReads'],
      ['maxRedirections', 'retryDelayOnFailover', 'retryDelayOnClusterDown', 'retryDelayOnTryAgain'],
      ['retryDelayOnMoved', 'slotsRefreshTimeout', 'slotsRefreshInterval', 'shardedSubscribers', 'lazyConnect'],
      ['useSRVRecords', 'resolveSrv', 'dnsLookup', 'natMap', 'enableAutoPipelining', 'autoPipeliningIgnoredCommands'],
      ['scripts', 'himportFieldsets', 'keyPrefix', 'showFriendlyErrorStack'],
    ),
  },
  hints(SERVER_OPTIONS.names, (name) => `write options of each node in redisOptions: { ${name} }`),
  true,
);

const CLUSTER = new Options(
  {
    cluster: read.listOf(readNode, "a list of nodes, such as [{ host: 'a', port: 6379 }, 'redis://b:6379']", describe),
    options: CLUSTER_OPTIONS.nested,
  },
  hints(
    [...CLUSTER_OPTIONS.names, ...SERVER_OPTIONS.names],
    () =>
      'write options of each node in connection.options.redisOptions, and other options of ioredis in connection.options',
  ),
);

/**
 * Whether a URL means the same to all. If a password is not encoded, the URL may end too early: the rest of the password would
 * become a port, a path or a host, and be printed.
 */
function isEncoded(url: string): boolean {
  try {
    const { username, password, pathname, search, hash } = new URL(url);
    decodeURIComponent(`${username} ${password} ${pathname}`);
    // `URL` would skip white space, and ioredis would not.
    return !/\s/.test(url) && !`${pathname}${search}${hash}`.includes('@');
  } catch {
    return false;
  }
}

/** The messages do not repeat the URL, because it may contain a password. */
function readUrl(label: string, url: string): string {
  const wrong = !isRedisUrl(url)
    ? "must be a URL such as 'redis://user:password@host:6379/0', with redis:// or rediss:// (TLS); " +
      "for a socket write { path: '/tmp/redis.sock' }"
    : isEncoded(url)
      ? undefined
      : 'is no valid URL: remove white space around it, as with process.env.REDIS_URL.trim(), and percent-encode special ' +
        'characters in user, password and database: %40 for @, %2F for /, %3F for ?, %23 for #, %25 for %, %20 for a space';
  if (wrong !== undefined) throw new LockConfigError(`${label} ${wrong}.`);
  const { pathname, searchParams } = new URL(url);
  SERVER_OPTIONS.check(label, Object.fromEntries(searchParams));
  const db = decodeURIComponent(pathname).slice(1) || searchParams.get('db');
  if (db !== null) readDatabase(`the database of ${label}`, db);
  return url;
}

/** Warnings about options in URLs that ioredis does not have, and ignores. Other clients may share the URL. */
export function warningsAboutUrls(connection: unknown): string[] {
  if (Array.isArray(connection)) return connection.flatMap(warningsAboutUrls);
  if (isObject(connection) && Array.isArray(connection['cluster'])) return warningsAboutUrls(connection['cluster']);
  if (typeof connection !== 'string' || !isRedisUrl(connection)) return [];
  const unknown = [...new URL(connection).searchParams.keys()].filter((name) => !SERVER_OPTIONS.names.includes(name));
  return unknown.map(
    (name) => `connection: ${quote(name)} in the URL has no effect, because it is no option of ioredis: leave it out.`,
  );
}

/**
 * Refuses a `keyPrefix` of ioredis unless the module's prefix begins with it. ioredis would add it to the keys of one
 * process and not to those of another, which would then both hold a lock.
 * @param keyPrefix `undefined`: a protocol has names of its own, so every prefix is refused
 * @throws LockConfigError
 */
export function refuseOtherPrefix(connection: LockConnectionOption, keyPrefix: string | undefined): void {
  const prefix = prefixesIn(connection).find((each) => !(keyPrefix ?? '').startsWith(each));
  if (prefix === undefined) return;
  const instead =
    keyPrefix === undefined
      ? 'a protocol uses the names of the locks as they are: leave it out, and write redisson({ nameMapper }).'
      : `the keys of locks begin with the keyPrefix of the module only: ${quote(keyPrefix)}. Write it there: keyPrefix: ` +
        `${quote(prefix + keyPrefix)}.`;
  throw new LockConfigError(`connection has the client option keyPrefix ${quote(prefix)}, and ${instead}`);
}

/** The prefixes in a connection, wherever ioredis and node-redis keep them. */
function prefixesIn(connection: unknown): string[] {
  if (typeof connection === 'string') return [new URL(connection).searchParams.get('keyPrefix') ?? ''];
  if (Array.isArray(connection)) return (connection as unknown[]).flatMap(prefixesIn);
  if (!isObject(connection)) return [];
  const { keyPrefix, _keyPrefix, options, _options, redisOptions, defaults } = connection;
  const prefixes = [keyPrefix, _keyPrefix].filter((prefix) => typeof prefix === 'string');
  return [...prefixes, ...[options, _options, redisOptions, defaults].filter(isObject).flatMap(prefixesIn)];
}

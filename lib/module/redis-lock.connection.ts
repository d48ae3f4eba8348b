import type { Cluster, ClusterNode, ClusterOptions, Redis } from 'ioredis';
import { isRedisUrl } from '../common/credentials.js';
import { describe, oneLine, quote } from '../common/describe.js';
import { LockConfigError } from '../errors/index.js';
import {
  fault,
  isFunction,
  isObject,
  refuseHiddenOptions,
  refuseHoles,
  type OptionReader,
} from '../options/option-readers.js';
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
  if (isClusterOfClient(connection)) return connection;
  if (isClusterAddress(connection)) return readClusterAddress(connection);
  if (!Array.isArray(connection)) return readConnection('connection', connection);
  refuseHoles('connection', connection);
  const masters = connection.map((each: unknown, i) => {
    const label = `connection[${i}]`;
    if (!isClusterOfClient(each) && !isClusterAddress(each)) return readConnection(label, each);
    throw new LockConfigError(
      `${label} is a Cluster: Redlock takes independent masters; for a Cluster write it without the array.`,
    );
  });
  if (masters.length < FEWEST_MASTERS) {
    throw new LockConfigError(
      `connection is an array of ${masters.length}: Redlock takes ${FEWEST_MASTERS} or more independent masters, ` +
        'so that a majority is left when one fails; for one server write it without the array.',
    );
  }
  const twice = masters.findIndex((each, i) => masters.indexOf(each) !== i);
  if (twice < 0) return Object.freeze(masters);
  const first = masters.indexOf(masters[twice]!);
  throw new LockConfigError(
    `connection[${twice}] is the same as connection[${first}]: each master must be a separate server.`,
  );
}

const isOneClient = (value: unknown): value is Redis | NodeRedisClient | NodeRedisSentinel =>
  isClient(value) || isNodeRedisClient(value) || isNodeRedisSentinel(value);
const isClusterOfClient = (value: unknown): value is Cluster | NodeRedisCluster =>
  isClusterClient(value) || isNodeRedisCluster(value);
const isClusterAddress = (value: unknown): value is { cluster: unknown; options?: unknown } =>
  isObject(value) && 'cluster' in value && !isFunction(value.cluster);

function readConnection(label: string, connection: unknown): RedisConnectionOption {
  if (typeof connection === 'string') return readUrl(label, connection);
  if (isOneClient(connection)) return connection;
  if (!isObject(connection) || Array.isArray(connection)) {
    throw new LockConfigError(
      connection === undefined
        ? `${label} is undefined: is a variable such as process.env.REDIS_URL not set, or a property missing? ` +
            'Leave the option out for a Redis on this machine.'
        : isObject(connection)
          ? `${label} is an array within an array: write all masters in one array.`
          : `${label} must be a URL such as 'redis://127.0.0.1:6379', ioredis options, or a client.`,
    );
  }
  refuseOtherClients(label, connection);
  refuseOptions(label, connection);
  return connection;
}

/** The options of ioredis 5 and 6 for one server. */
export const OPTIONS_OF_IOREDIS: readonly string[] = [
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
];

const NODES = 'for a Cluster write connection: { cluster: [{ host, port }, …] }';
const CONTENTS = 'write what it contains: connection: { host, port }';

/** Options of other packages, and what to write in their place. */
const WRITE_INSTEAD = new Map([
  ['url', "write the URL itself: connection: 'redis://…'"],
  ['socket', 'it is an option of the package redis; write connection: { host, port }'],
  ['nodes', NODES],
  ['rootNodes', `it is an option of the package redis; ${NODES}`],
  ['startupNodes', NODES],
  ['redisOptions', 'for a Cluster write connection: { cluster: [{ host, port }, …], options: { redisOptions } }'],
  ['config', CONTENTS],
  ['connection', CONTENTS],
  ['options', CONTENTS],
  ['database', 'write connection: { db }'],
  ['user', 'write connection: { username }'],
  ['pass', 'write connection: { password }'],
]);

/** Options of TLS and of Sentinels. A prototype must not hide them. */
const NESTED = ['host', 'port', 'key', 'cert', 'ca', 'pfx', 'passphrase', 'servername', 'rejectUnauthorized'];
const readNested: OptionReader<unknown> = (label, written) =>
  isObject(written) && refuseHiddenOptions(label, written, NESTED);

/** Refuses a value that may contain a password, so the message does not repeat it. */
function refuseUnseen(label: string, written: unknown, instead: string): never {
  throw new LockConfigError(`${label} is ${describe(written)}; write ${instead}.`);
}

/** The options of one server that are checked here. ioredis checks the others. */
const CHECKS: Readonly<Record<string, OptionReader>> = {
  db: readDatabase,
  tls: readNested,
  sentinelTLS: readNested,
  sentinels: readSentinels,
};

/**
 * Refuses options of one server that ioredis would not see, because it copies its options, and options that it does not know.
 * It ignores these, and connects to this machine if they hold the address. A `Connector` may have options of its own.
 */
function refuseOptions(label: string, written: object): void {
  if (written instanceof URL) throw new LockConfigError(`${label} is a URL object: write its text, url.href.`);
  refuseHiddenOptions(label, written, OPTIONS_OF_IOREDIS);
  const options = written as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(options).find((name) => !OPTIONS_OF_IOREDIS.includes(name));
  if (unknown !== undefined && !('Connector' in options)) {
    const instead = WRITE_INSTEAD.get(unknown) ?? 'leave it out';
    throw new LockConfigError(`${label}.${oneLine(unknown)} is no option of ioredis: ${instead}.`);
  }
  for (const [name, check] of Object.entries(CHECKS))
    if (options[name] !== undefined && options[name] !== null) check(`${label}.${name}`, options[name]);
  const { credentials, username, password } = options;
  if (credentials === undefined) return;
  if (!isFunction(credentials))
    refuseUnseen(`${label}.credentials`, credentials, 'a function that returns { username, password, expiresAt }');
  if (username === undefined && password === undefined) return;
  throw new LockConfigError(
    `${label} has credentials beside username or password: leave these out, and return them from the function.`,
  );
}

/** Refuses a service or a store that has a client, clients of other packages, stubs and wrappers. */
function refuseOtherClients(label: string, connection: object): void {
  const own = Object.entries(Object.getOwnPropertyDescriptors(connection)).filter(([name]) => !name.startsWith('_'));
  const [property] = own.find(([, { value }]) => isOneClient(value) || isClusterOfClient(value)) ?? [];
  const has = (name: string): boolean => isFunction((connection as Readonly<Record<string, unknown>>)[name]);
  if (property !== undefined || has('getClient')) {
    const client = property === undefined ? 'service.getClient()' : `object.${oneLine(property)}`;
    throw fault(label, connection, `, which has a client: write connection: ${client}`);
  }
  if (!['duplicate', 'sendCommand', 'evalsha', 'eval', 'on', 'get'].some(has)) return;
  const [what, instead] =
    'totalClients' in connection && 'execute' in connection
      ? ['a pool of node-redis (createClientPool)', 'connection: createClient(options) with the options of the pool']
      : 'isOpen' in connection && 'sendCommand' in connection
        ? [
            'a client of the package redis (node-redis) before version 5',
            "connection: 'redis://…' or { host, port }, or pass a client of node-redis 5 or 6",
          ]
        : [
            `${describe(connection)} that is no client of ioredis or node-redis: a wrapper, a stub, or a client of another package`,
            "connection: 'redis://…' or { host, port }, or pass a client of ioredis or node-redis; in tests write store: 'memory'",
          ];
  throw new LockConfigError(
    `${label} is ${what}. The library makes connections of its own, with the address and options of a client. Write ${instead}.`,
  );
}

function readSentinels(label: string, written: unknown): void {
  if (!Array.isArray(written) || written.length === 0)
    return refuseUnseen(label, written, "a list such as [{ host: 'a', port: 26379 }]");
  refuseHoles(label, written);
  written.forEach((sentinel: unknown, i) => readNested(`${label}[${i}]`, sentinel));
}

/** Refuses a database that `SELECT` cannot take, which ioredis would replace by database 0. */
function readDatabase(label: string, db: unknown): void {
  if (/^\d+$/.test(typeof db === 'number' || typeof db === 'string' ? String(db) : '')) return;
  throw fault(label, db, ': the database must be a number from 0 on, as in redis://host:6379/0');
}

/** The options beside `cluster`, if they are an object. */
const readClusterOptions = (label: string, options: unknown, example: string): object => {
  if (!isObject(options)) throw new LockConfigError(`${label} must be an object of ${example}.`);
  refuseHiddenOptions(label, options, ['redisOptions', 'natMap', 'dnsLookup', 'scaleReads', 'keyPrefix']);
  return options;
};

function readClusterAddress(written: { cluster: unknown; options?: unknown }): RedisClusterOption {
  refuseHiddenOptions('connection', written, ['cluster', 'options']);
  const { cluster, options = {}, ...rest } = written;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new LockConfigError(
      `connection.${oneLine(unknown)} is not known beside connection.cluster: write options for each node in ` +
        'connection.options.redisOptions, and other options of ioredis in connection.options.',
    );
  }
  if (Array.isArray(cluster)) refuseHoles('connection.cluster', cluster);
  const isNode = (node: unknown): boolean => isObject(node) || ['string', 'number'].includes(typeof node);
  if (!Array.isArray(cluster) || cluster.length === 0 || !cluster.every(isNode)) {
    throw new LockConfigError(
      "connection.cluster must be a list of nodes, such as [{ host: 'a', port: 6379 }, 'redis://b:6379'].",
    );
  }
  cluster.forEach((node: unknown, i) => {
    if (typeof node === 'string' && isRedisUrl(node)) readUrl(`connection.cluster[${i}]`, node);
    if (isObject(node)) refuseOptions(`connection.cluster[${i}]`, node);
  });
  const read: ClusterOptions = readClusterOptions(
    'connection.options',
    options,
    'the Cluster options of ioredis, such as { natMap }',
  );
  if (read.redisOptions !== undefined) {
    const label = 'connection.options.redisOptions';
    refuseOptions(
      label,
      readClusterOptions(label, read.redisOptions, 'the ioredis options for each node, such as { password }'),
    );
  }
  return { cluster, options: read };
}

/** Whether each `%` of a text begins the code of a character. */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The messages do not repeat the URL, because it may contain a password. */
function readUrl(label: string, url: string): string {
  const { username, password, pathname, search, hash, searchParams } = new URL(URL.canParse(url) ? url : 'redis://');
  const wrong = !isRedisUrl(url)
    ? "must be a URL such as 'redis://user:password@host:6379/0', with redis:// or rediss:// (TLS); " +
      "for a socket write { path: '/tmp/redis.sock' }"
    : // `URL` would skip it, and ioredis would not.
      /\s/.test(url)
      ? 'is a URL with white space in it: trim the text, such as process.env.REDIS_URL.trim(), and write %20 for a ' +
        'space in a password'
      : !URL.canParse(url)
        ? "is no valid URL; write 'redis://user:password@host:6379/0', special characters percent-encoded"
        : // If a password is not encoded, the URL ends too early: the rest of the password would become a port, a path or a
          // host, and be printed.
          `${pathname}${search}${hash}`.includes('@')
          ? 'is a URL with an @ after its host: percent-encode special characters in user and password, such as ' +
            '%40 for @, %2F for /, %3F for ? and %23 for #'
          : ![username, password, pathname].every(isEncoded)
            ? 'is a URL with a % that stands for no character: write %25 for a % in user, password and database'
            : undefined;
  if (wrong !== undefined) throw new LockConfigError(`${label} ${wrong}.`);
  const db = decodeURIComponent(pathname).slice(1) || searchParams.get('db');
  if (db !== null) readDatabase(`the database of ${label}`, db);
  return url;
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

/** The prefixes in a connection, wherever ioredis and node-redis keep them. */
function prefixesIn(connection: unknown): string[] {
  if (typeof connection === 'string') return [new URL(connection).searchParams.get('keyPrefix') ?? ''];
  if (Array.isArray(connection)) return (connection as unknown[]).flatMap(prefixesIn);
  if (!isObject(connection)) return [];
  const { keyPrefix, _keyPrefix, options, _options, redisOptions, defaults } = connection as Record<string, unknown>;
  const prefixes = [keyPrefix, _keyPrefix].filter((prefix) => typeof prefix === 'string');
  return [...prefixes, ...[options, _options, redisOptions, defaults].filter(isObject).flatMap(prefixesIn)];
}

import type { RedisOptions } from 'ioredis';
import { refuseUrls } from '../common/refuse-urls.js';
import type { Clock } from '../common/clock.js';
import { Concealed } from '../common/concealed.js';
import { describe, quote } from '../common/describe.js';
import type { Duration } from '../common/duration.js';
import type { LockLogger } from '../common/logger.js';
import type { ReplicaTerms } from '../engine/hold.js';
import type { OnContended, OnLost, ReplicaOptions } from '../options/acquire-options.js';
import { doubtsAbout } from '../options/option-doubts.js';
import { refuseUnreadable } from '../options/own-options.js';
import { readReplicas } from '../options/lock-option-readers.js';
import { LockConfigError } from '../errors/index.js';
import { assertKeyPrefix } from '../keys/index.js';
import {
  readChoice,
  readCount,
  readDuration,
  readExpire,
  readLease,
  readTimes,
  readWaitTimeout,
  refuseUnknownOptions,
} from '../options/option-readers.js';
import { readConnections, type LockConnectionOption } from './redis-lock.connection.js';
import { DEFAULT_INSTANCE } from './redis-lock.tokens.js';
import type { LockStore } from '../store/lock-store.js';

/** The options of `RedisLockModule`, as they are written. */
export interface RedisLockModuleOptions {
  /** Tells several instances apart: `InjectLockService(name)`, `@DistributedLock({ connection: name })`. */
  name?: string;
  /**
   * Where Redis is: a URL (`redis://user:password@host:6379/0`, `rediss://…` for TLS), ioredis options, or a client of
   * yours, which is used but never closed. Default `redis://127.0.0.1:6379`.
   *
   * - Sentinels: `{ sentinels: [{ host, port }, …], name: 'mymaster' }`, as ioredis takes them.
   * - A Cluster: `{ cluster: [{ host, port }, …], options }`, or a `Cluster` of yours.
   * - An array of at least three of the former: independent masters (Redlock), of which a majority has to have a lock.
   */
  connection?: LockConnectionOption;
  /**
   * What keeps the locks. `'redis'` (default). `'memory'`: this process, for development and for services that run once;
   * `connection` is passed over then, so that an environment variable can switch. Or a function that makes a store of
   * your own.
   */
  store?: LockStoreChoice;
  /** Stands before every key and channel in Redis. Default `'lock'`. */
  keyPrefix?: string;
  /** The lease of a lock that renews itself (`expire: 0`), in milliseconds or `'30s'`. Default 30 s. */
  lockWatchdogTimeout?: Duration;
  /** What acquisitions and decorated methods use where they do not say otherwise. */
  defaults?: LockDefaults;
  /** How long one round trip to Redis may take before it counts as failed. Default 5 s. */
  commandTimeout?: Duration;
  /** How long to wait at shutdown for those who hold a lock. Default 10 s. */
  shutdownTimeout?: Duration;
  /**
   * The first lease of a lock that is handed to a waiter; its first renewal makes it full. What a waiter costs the
   * others that dies in the moment of its turn. Default 3 s.
   */
  grantTimeout?: Duration;
  /**
   * How many of one process's waiters for a key have it in turn, without a round trip, before others get it. Default 200, at most 500;
   * 1: none, each waiter of each process in the order in which all came.
   */
  localHandoffs?: number;
  /** For how long they may have it in turn: what others wait for a process at most, but for the section that is under way. Default 10 ms. */
  localHandoffTime?: Duration;
}

/** What keeps the locks: Redis, this process's memory, or what a function makes. */
export type LockStoreChoice = 'redis' | 'memory' | LockStoreFactory;

/** Makes a store of your own, once for each `LockService`. */
export type LockStoreFactory = (parts: LockStoreParts) => LockStore;

/** What a store is made of. */
export interface LockStoreParts {
  readonly clock: Clock;
  readonly logger: LockLogger;
  readonly keyPrefix: string;
  /** ms */
  readonly commandTimeout: number;
}

/** Defaults of an instance for every acquisition; each means what it means there. */
export interface LockDefaults {
  expire?: Duration;
  maxRenewTimes?: number;
  waitTimeout?: Duration;
  replicas?: ReplicaOptions;
  /** Of decorated methods and handlers only. */
  onContended?: OnContended;
  /** Of decorated methods, handlers and `run`. */
  onLost?: OnLost;
}

/** The options of `RedisLockModule.forRoot`. */
export interface RedisLockRootOptions extends RedisLockModuleOptions {
  /** Whether every module can inject the service without importing this one. Default `true`. */
  isGlobal?: boolean;
}

/** The options as they are used: complete, checked, in milliseconds. */
export interface ResolvedModuleOptions {
  readonly name: string;
  /** Nest keeps the options where others find them, and passwords are among them. */
  readonly connection: Concealed<LockConnectionOption>;
  readonly store: LockStoreChoice;
  readonly keyPrefix: string;
  readonly lockWatchdogTimeout: number;
  readonly commandTimeout: number;
  readonly shutdownTimeout: number;
  readonly grantTimeout: number;
  readonly localHandoffs: number;
  readonly localHandoffTime: number;
  readonly defaults: ResolvedLockDefaults;
  /** What to warn of: defaults that are allowed and probably mistakes. */
  readonly doubts: readonly string[];
}

/** What applies where an acquisition or a decorated method does not say otherwise. */
export interface ResolvedLockDefaults {
  readonly expire: number;
  readonly maxRenewTimes: number;
  readonly waitTimeout: number;
  readonly replicas: ReplicaTerms | undefined;
  readonly onContended: OnContended;
  readonly onLost: OnLost;
  /** The `waitTimeout` of methods that name neither one nor an `onContended`: 0 where the default is not to throw. */
  readonly methodWaitTimeout: number;
}

/** All defaults of the library. */
export const DEFAULTS: Omit<ResolvedModuleOptions, 'connection'> & { readonly connection: string } = Object.freeze({
  name: DEFAULT_INSTANCE,
  connection: 'redis://127.0.0.1:6379',
  store: 'redis',
  keyPrefix: 'lock',
  lockWatchdogTimeout: 30_000,
  commandTimeout: 5_000,
  shutdownTimeout: 10_000,
  grantTimeout: 3_000,
  localHandoffs: 200,
  localHandoffTime: 10,
  defaults: Object.freeze({
    expire: 0,
    maxRenewTimes: 0,
    waitTimeout: 10_000,
    replicas: undefined,
    onContended: 'throw',
    onLost: 'throw',
    methodWaitTimeout: 10_000,
  }),
  doubts: Object.freeze([]),
});

/** The names of all options. */
export const MODULE_OPTIONS = [
  'name',
  'connection',
  'store',
  'keyPrefix',
  'lockWatchdogTimeout',
  'defaults',
  'commandTimeout',
  'shutdownTimeout',
  'grantTimeout',
  'localHandoffs',
  'localHandoffTime',
  'isGlobal',
] satisfies Array<keyof RedisLockRootOptions>;

const LOCK_DEFAULTS = ['expire', 'maxRenewTimes', 'waitTimeout', 'replicas', 'onContended', 'onLost'] satisfies Array<
  keyof LockDefaults
>;

/**
 * Checks options and completes them.
 * @throws LockConfigError for the first that cannot be used; its message names it and says what to write instead
 */
export function resolveModuleOptions(written: RedisLockModuleOptions = {}): ResolvedModuleOptions {
  refuseUnreadable('RedisLockModule', () => refuseMisplacedOptions(written));
  refuseUnknownOptions('RedisLockModule', written, MODULE_OPTIONS);
  const connection = readConnections(isConnectionGiven(written) ? written.connection : DEFAULTS.connection);
  if (Array.isArray(connection) && written.defaults?.replicas !== undefined) {
    throw new LockConfigError(
      'defaults.replicas cannot be met with several independent masters, which stand in place of replicas: leave one out.',
    );
  }
  const given = { ...DEFAULTS, ...withoutUndefined(written) };
  const { defaults = {} } = written;
  return Object.freeze({
    name: readInstanceName(given.name),
    connection: new Concealed(connection),
    store: readStore(given.store),
    keyPrefix: assertKeyPrefix(given.keyPrefix),
    lockWatchdogTimeout: readLease('lockWatchdogTimeout', given.lockWatchdogTimeout),
    commandTimeout: readTimeout('commandTimeout', given.commandTimeout),
    shutdownTimeout: readDuration('shutdownTimeout', given.shutdownTimeout),
    grantTimeout: readLease('grantTimeout', given.grantTimeout),
    localHandoffs: readHandoffs(given.localHandoffs),
    localHandoffTime: readDuration('localHandoffTime', given.localHandoffTime),
    defaults: resolveLockDefaults(defaults),
    doubts: doubtsAbout('defaults', defaults),
  });
}

/** What is there and `undefined` counts as left out; what is `null` does not. */
const withoutUndefined = <T extends object>(written: T): Partial<T> =>
  Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined)) as Partial<T>;

/** Each takes a fencing token, whether it comes to that or not; and more are for those alone who nobody waits behind. */
const MOST_HANDOFFS = 500;

function readHandoffs(written: unknown): number {
  const handoffs = readCount('localHandoffs', written, 1);
  if (handoffs <= MOST_HANDOFFS) return handoffs;
  throw new LockConfigError(`localHandoffs is ${handoffs}; write ${MOST_HANDOFFS} or less.`);
}

/** Options of ioredis that people write beside `connection`, since other modules for Nest take them there. */
const CONNECTION_OPTIONS: readonly string[] = [
  'host',
  'port',
  'username',
  'password',
  'db',
  'path',
  'family',
  'tls',
  'sentinels',
] satisfies Array<keyof RedisOptions>;

/** Names an option that is one, but elsewhere. */
function refuseMisplacedOptions(written: unknown): void {
  if (typeof written !== 'object' || written === null) return;
  for (const name of Object.keys(written)) {
    const place = (LOCK_DEFAULTS as string[]).includes(name)
      ? `defaults: { ${name} }`
      : CONNECTION_OPTIONS.includes(name)
        ? `connection: { ${name} }`
        : undefined;
    if (place === undefined) continue;
    throw new LockConfigError(`RedisLockModule has no option "${name}" of its own: write ${place}.`);
  }
}

/** Whether other modules need not import an instance. */
export function readIsGlobal(isGlobal: unknown = true): boolean {
  if (typeof isGlobal === 'boolean') return isGlobal;
  throw new LockConfigError('isGlobal must be true or false.');
}

function resolveLockDefaults(written: LockDefaults): ResolvedLockDefaults {
  refuseUnknownOptions('defaults', written, LOCK_DEFAULTS);
  const { expire, maxRenewTimes, waitTimeout, onContended, onLost } = {
    ...DEFAULTS.defaults,
    ...withoutUndefined(written),
  };
  readChoice('defaults.onContended', onContended, ['throw', 'skip']);
  readChoice('defaults.onLost', onLost, ['throw', 'ignore']);
  const wait = readWaitTimeout('defaults.waitTimeout', waitTimeout);
  return Object.freeze({
    expire: readExpire('defaults.expire', expire),
    maxRenewTimes: readTimes('defaults.maxRenewTimes', maxRenewTimes),
    waitTimeout: wait,
    replicas: written.replicas === undefined ? undefined : readReplicas('defaults.replicas', written.replicas),
    onContended,
    onLost,
    methodWaitTimeout: onContended !== 'throw' && written.waitTimeout === undefined ? 0 : wait,
  });
}

/** The name of an instance, `'default'` when none is given. */
export function readInstanceName(name: unknown = DEFAULT_INSTANCE): string {
  refuseUrls('name', name);
  if (typeof name === 'string' && name.trim() !== '') return name;
  throw new LockConfigError("name must be a text such as 'jobs'; leave it out for the only or the main instance.");
}

function readTimeout(label: string, written: unknown): number {
  const ms = readDuration(label, written);
  if (ms > 0) return Math.ceil(ms);
  throw new LockConfigError(`${label} is 0, which no command can meet; write milliseconds, or a text such as '5s'.`);
}

/** One that is there and `undefined` is a mistake, except where none is needed. */
function isConnectionGiven(written: RedisLockModuleOptions): boolean {
  const { store = DEFAULTS.store } = written;
  const needed = store === 'redis';
  return needed ? Object.hasOwn(written, 'connection') : written.connection !== undefined;
}

function readStore(store: unknown = DEFAULTS.store): LockStoreChoice {
  if (store === 'redis' || store === 'memory') return store;
  if (typeof store === 'function') return store as LockStoreFactory;
  const given = typeof store === 'string' ? quote(store) : describe(store);
  throw new LockConfigError(`store is ${given}; write 'redis', 'memory', or a function that makes a store.`);
}

import { refuseUrls } from '../common/refuse-urls.js';
import { LONGEST_TIMER } from '../common/clock.js';
import { LockConfigError } from '../errors/index.js';
import { assertKeyPrefix } from '../keys/index.js';
import { asWritten } from '../options/lock-option-readers.js';
import { readKeyBuilder } from '../options/key-builder.js';
import { readCount, readDuration, readLease, readWaitTimeout } from '../options/option-readers.js';
import { readConnections } from './redis-lock.connection.js';
import { readLabel } from './redis-lock.label.js';
import { readProtocol } from './redis-lock.protocol.js';
import { readStore } from './redis-lock.store.js';
import { DEFAULT_INSTANCE } from './redis-lock.tokens.js';

/** A batch reserves a fencing token for each of its turns, whether a waiter takes the turn or not. */
const MOST_LOCAL_HANDOFFS = 500;

/**
 * The one table of the module's options: the default of each, and how it is read. The list of names in the message about an
 * unknown option comes from it. What an option means and its unit stand in the doc comment of `RedisLockModuleOptions`, from
 * which `npm run generate:options` writes docs/options.md.
 */
export const MODULE_OPTIONS = {
  instance: { default: DEFAULT_INSTANCE, read: (_label: string, written: unknown) => readInstanceName(written) },
  connection: {
    default: 'redis://127.0.0.1:6379',
    read: (_label: string, written: unknown) => readConnections(written),
  },
  store: { default: 'redis', read: readStore },
  protocol: { default: undefined, read: readProtocol },
  keyPrefix: { default: 'lock', read: (_label: string, written: unknown) => assertKeyPrefix(written) },
  label: { default: undefined, read: readLabel },
  keyBuilder: { default: undefined, read: readKeyBuilder },
  renewedLease: { default: 30_000, read: readLease },
  defaults: { default: Object.freeze({}), read: asWritten },
  commandTimeout: { default: 5_000, read: readCommandTimeout },
  shutdownTimeout: { default: 10_000, read: readDuration },
  drainTimeout: { default: Infinity, read: readWaitTimeout },
  grantTimeout: { default: 3_000, read: readLease },
  localHandoffs: { default: 200, read: readLocalHandoffs },
  localHandoffTime: { default: 10, read: readDuration },
  isGlobal: { default: true, read: (_label: string, written: unknown) => readIsGlobal(written) },
} as const;

/** The defaults of `defaults`: what a call uses if neither it nor the module says otherwise, in milliseconds. */
export const LOCK_DEFAULTS = Object.freeze({
  expire: 0,
  maxRenewTimes: 0,
  waitTimeout: 10_000,
  holdAtLeast: 0,
  replicas: undefined,
  onContended: 'throw',
  onUnavailable: 'throw',
  onLost: 'throw',
  release: 'awaited',
} as const);

export type ModuleOption = keyof typeof MODULE_OPTIONS;

/** The names of all options. */
export const MODULE_OPTION_NAMES = Object.freeze(Object.keys(MODULE_OPTIONS)) as readonly ModuleOption[];

/**
 * Reads one option, or its default if it was left out. `undefined` counts as left out, `null` does not.
 * @throws LockConfigError
 */
export function readModuleOption<Name extends ModuleOption>(
  name: Name,
  written: { readonly [N in ModuleOption]?: unknown },
): ReturnType<(typeof MODULE_OPTIONS)[Name]['read']> {
  const { read, default: otherwise } = MODULE_OPTIONS[name];
  const value = written[name];
  return read(name, value === undefined ? otherwise : value) as ReturnType<(typeof MODULE_OPTIONS)[Name]['read']>;
}

/** The name of an instance, `'default'` if none is given. */
export function readInstanceName(name: unknown = DEFAULT_INSTANCE): string {
  refuseUrls('instance', name);
  if (typeof name === 'string' && name.trim() !== '') return name;
  throw new LockConfigError("instance must be a name such as 'jobs'; leave it out for the only or the main instance.");
}

/** Whether other modules need not import an instance. */
export function readIsGlobal(isGlobal: unknown = true): boolean {
  if (typeof isGlobal === 'boolean') return isGlobal;
  throw new LockConfigError('isGlobal must be true or false.');
}

function readCommandTimeout(label: string, written: unknown): number {
  const ms = readDuration(label, written);
  // Connections set timers of Node for it, and for a little more.
  if (ms > 0) return Math.ceil(Math.min(ms, LONGEST_TIMER / 2));
  throw new LockConfigError(`${label} is 0, which no command can meet; write milliseconds, or a text such as '5s'.`);
}

function readLocalHandoffs(label: string, written: unknown): number {
  const handoffs = readCount(label, written, 1);
  if (handoffs <= MOST_LOCAL_HANDOFFS) return handoffs;
  throw new LockConfigError(`${label} is ${handoffs}; write ${MOST_LOCAL_HANDOFFS} or less.`);
}

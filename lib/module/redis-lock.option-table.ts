import { LONGEST_TIMER } from '../common/clock.js';
import { assertKeyPrefix } from '../keys/index.js';
import { readKeyBuilder } from '../options/key-builder.js';
import {
  Options,
  readCount,
  readDuration,
  readFlag,
  readInstanceName,
  readLease,
  readWaitTimeout,
  refuse,
  type OptionReader,
} from '../options/option-readers.js';
import { asWritten, optionReaders } from '../options/option-table.js';
import { readConnections } from './redis-lock.connection.js';
import { readLabel } from './redis-lock.label.js';
import { readProtocol } from './redis-lock.protocol.js';
import { readStore } from './redis-lock.store.js';
import { DEFAULT_INSTANCE } from './redis-lock.tokens.js';

/** A batch reserves a fencing token for each of its turns, whether a waiter takes the turn or not. */
const MOST_LOCAL_HANDOFFS = 500;

const readCommandTimeout: OptionReader<number> = (label, written) => {
  const ms = readDuration(label, written);
  // Connections set timers of Node for it, and for a little more.
  if (ms > 0) return Math.ceil(Math.min(ms, LONGEST_TIMER / 2));
  return refuse(label, written, "the time that a command may take, in milliseconds or a text such as '5s'");
};

/** What applies if an option of the module was left out, in milliseconds. */
export const MODULE_DEFAULTS = Object.freeze({
  instance: DEFAULT_INSTANCE,
  connection: 'redis://127.0.0.1:6379',
  store: 'redis',
  keyPrefix: 'lock',
  renewedLease: 30_000,
  defaults: Object.freeze({}),
  commandTimeout: 5_000,
  shutdownTimeout: 10_000,
  drainTimeout: Infinity,
  grantTimeout: 3_000,
  localHandoffs: 200,
  localHandoffTime: 10,
  isGlobal: true,
} as const);

/**
 * The one table of the module's options, and how each is read. The list of names in the message about an unknown option comes
 * from it. What an option means and its unit stand in the doc comment of `RedisLockModuleOptions`, from which
 * `npm run generate:options` writes docs/options.md.
 */
export const MODULE_OPTIONS = new Options(
  {
    instance: readInstanceName,
    connection: (_label: string, written: unknown) => readConnections(written),
    store: readStore,
    protocol: readProtocol,
    keyPrefix: (_label: string, written: unknown) => assertKeyPrefix(written),
    label: readLabel,
    keyBuilder: readKeyBuilder,
    renewedLease: readLease,
    defaults: asWritten,
    commandTimeout: readCommandTimeout,
    shutdownTimeout: readDuration,
    drainTimeout: readWaitTimeout,
    grantTimeout: readLease,
    localHandoffs: (label: string, written: unknown) => readCount(label, written, 1, MOST_LOCAL_HANDOFFS),
    localHandoffTime: readDuration,
    isGlobal: readFlag,
  },
  MODULE_DEFAULTS,
);

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

/** The options in `defaults` of the module. */
export const CALL_DEFAULTS = new Options(optionReaders('defaults'), LOCK_DEFAULTS);

import type { LockAcquisition, LockDiagnostics } from '../diagnostics/index.js';
import type { LockEvent } from '../../engine/lock-event.js';
import { Options, or, read, refuse, suggestion, type OptionReader } from '../../options/option-readers.js';
import { messageOf } from '../../common/describe.js';
import { listenToLocks } from './listen.js';
import { isFailure } from './measure-locks.js';

/** Writes the lines: Nest's `Logger` (with `new ConsoleLogger({ json: true })` as JSON), or pino. */
export interface StructuredLogger {
  debug(line: object): void;
  warn(line: object): void;
}

/** The options of `structuredLogs`. */
export interface StructuredLogOptions {
  /**
   * The events that are logged.
   * @defaultValue all
   */
  types?: ReadonlyArray<LockEvent['type'] | 'failed'> | undefined;
}

const EVENTS: ReadonlyArray<LockEvent['type']> = [
  ...(['contended', 'acquired', 'timeout', 'skipped', 'renewed', 'released', 'unreleased', 'lost'] as const),
];
const TYPES = [...EVENTS, 'failed' as const];
const readType: OptionReader<LockEvent['type'] | 'failed'> = (label, written) => {
  if (TYPES.includes(written as 'failed')) return written as 'failed';
  const meant = typeof written === 'string' ? suggestion(written, TYPES) : undefined;
  return refuse(label, written, meant === undefined ? `one of ${TYPES.join(', ')}` : `'${meant}'`);
};
const OPTIONS = new Options({ types: or(read.listOf(readType, `a list of ${TYPES.join(', ')}`), TYPES) });

/** Events that an operator should look into, and late renewals. All others go to `debug`. */
const WARNINGS: ReadonlySet<LockEvent['type']> = new Set(['timeout', 'unreleased', 'lost']);

/**
 * Logs an object for each event of all locks of this process, until the returned function is called:
 * `{ event: 'lock.released', instance, label, key, owner, kind, pattern, method, fencingToken, held }`. Times are in ms.
 * Losses, timeouts, late renewals and releases that failed are warnings. So is `lock.failed`, which has the `keys` and the
 * `reason` of a call that Redis failed.
 * @throws LockConfigError for an option that cannot be used
 */
export function structuredLogs(logger: StructuredLogger, options: StructuredLogOptions = {}): () => void {
  const { types } = OPTIONS.read('structuredLogs', options);
  read.withMethods(['debug', 'warn'], "Nest's Logger, or pino")('the logger of structuredLogs', logger);
  const write = (event: LockDiagnostics): void => {
    const isLate = event.type === 'renewed' && event.late > 0;
    const level = isLate || WARNINGS.has(event.type) ? 'warn' : 'debug';
    logger[level](lineOf(event));
  };
  const listeners = EVENTS.map((type) => [type, write] as const).filter(([type]) => types.includes(type));
  return listenToLocks({
    ...Object.fromEntries(listeners),
    ...(types.includes('failed') && { answered: writeFailure }),
  });

  function writeFailure(call: LockAcquisition): void {
    if (!isFailure(call)) return;
    const { error, instance, keys, pattern, method, kind, owner } = call;
    logger.warn(withoutGaps('failed', { instance, keys, owner, kind, pattern, method, reason: messageOf(error) }));
  }
}

const lineOf = ({ type, ...facts }: LockDiagnostics): object => withoutGaps(type, facts);

function withoutGaps(type: string, facts: object): object {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined);
  return { event: `lock.${type}`, ...Object.fromEntries(known.map(([name, value]) => [name, rounded(value)])) };
}

/** Rounds to microseconds, but not tokens, which are so large that rounding would change them. */
const rounded = (value: unknown): unknown =>
  typeof value !== 'number' || Number.isInteger(value) ? value : Math.round(value * 1_000) / 1_000;

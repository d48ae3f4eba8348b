import { isObject } from '../../common/type-guards.js';
import { Options, or, read, refuse, type OptionReader } from '../../options/option-readers.js';

/** One measurement. */
export interface Measure {
  /** A `level` goes up and down with events. A `reading` is taken when the metrics are collected. */
  readonly kind: 'duration' | 'count' | 'level' | 'reading' | 'reading in seconds' | 'counted reading' | 'timestamp';
  /** As OpenTelemetry writes it: `redis_lock.hold.duration`. */
  readonly name: string;
  readonly help: string;
  /** The names of its labels. */
  readonly labels: readonly Label[];
}

export type Label = 'lock.instance' | 'lock.pattern' | 'lock.kind' | 'lock.outcome' | 'lock.loss_reason';

/** The values of labels. The key is not among them, so that a label has only as many values as the code has locks. */
export type Labels = Partial<Record<Label, string>>;

/** The labels of every measurement: the module instance, the key template, and the kind of lock. */
const OF_LOCK: readonly Label[] = ['lock.instance', 'lock.pattern', 'lock.kind'];
const WITH_OUTCOME: readonly Label[] = [...OF_LOCK, 'lock.outcome'];

const measure =
  <Kind extends Measure['kind']>(kind: Kind, labels = OF_LOCK) =>
  (name: string, help: string): Measure & { readonly kind: Kind } =>
    Object.freeze({ kind, name: `redis_lock.${name}`, help, labels });

const duration = measure('duration', WITH_OUTCOME);
const count = measure('count');
const level = measure('level');
const reading = measure('reading', ['lock.instance']);
const seconds = measure('reading in seconds', ['lock.instance']);

/** All measurements. The Prometheus names come from these, so that one dashboard fits both. */
export const MEASURES = Object.freeze({
  acquire: duration(
    'acquire.duration',
    'How long calls that request a lock took (acquired, timeout, skipped, failed, aborted)',
  ),
  wait: duration('wait.duration', 'Time spent waiting for a contended lock (acquired, timeout, skipped)'),
  hold: duration('hold.duration', 'How long locks were held (released, unreleased, lost)'),
  contended: count('contended', 'How often others held the lock'),
  handoffs: count('handoffs', 'How often a lock was handed off to a waiter'),
  timeouts: count('timeouts', 'How often a call got a LockTimeoutError because others held the lock'),
  failed: count(
    'failed',
    'How often a call got a LockStoreError because Redis failed or did not answer, except at shutdown',
  ),
  skipped: count('skipped', 'How often a call continued without the lock because others held it'),
  renewals: count('renewals', 'How often a lease was renewed'),
  lost: measure('count', [...OF_LOCK, 'lock.loss_reason'])(
    'lost',
    'How often a lock was lost before its holder released it',
  ),
  waiting: level('waiting', 'How many calls have requested a lock and have no result yet'),
  held: level('held', 'How many locks are held'),
  reachable: reading('reachable', 'Whether Redis answers (1) or not (0)'),
  subscribed: reading('subscribed', 'Whether messages from Redis arrive (1) or not (0), so that calls can wait'),
  roundTrip: seconds('round_trip', 'How long Redis took to answer this reading'),
  disconnects: measure('counted reading', ['lock.instance'])(
    'disconnects',
    'How often a connection to Redis was lost, or could not be made, since the process has started',
  ),
  clockAhead: seconds('clock.ahead', 'By how much the clock of Redis is ahead of the clock of this process'),
  watchdogLag: seconds('watchdog.lag', 'How late the most overdue renewal of the last two minutes was'),
  candidates: measure('reading', ['lock.instance', 'lock.pattern'])(
    'candidates',
    'How many candidates of this process stand for election',
  ),
  lastAcquired: measure('timestamp')('last_acquired', 'When a lock was last acquired, in seconds since 1970'),
  oldestHold: measure('reading in seconds')('oldest_hold', 'For how long the oldest current hold has been held'),
});

export type MeasureName = keyof typeof MEASURES;
/** The measurements that are recorded with events. All others are read when the metrics are collected. */
export type EventName = {
  [Name in MeasureName]: (typeof MEASURES)[Name]['kind'] extends 'duration' | 'count' | 'level' ? Name : never;
}[MeasureName];
export type ReadingName = Exclude<MeasureName, EventName>;

/** Upper bounds of the duration buckets, in seconds: from a round trip to Redis to long jobs. */
export const BUCKETS: readonly number[] = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60, 300, 1_800],
];

/** The histograms, and the bounds that a user may give for each of them; `false`: the histogram is not recorded. */
export type DurationName = 'acquire' | 'wait' | 'hold';
export type LockBuckets = readonly number[] | { readonly [Name in DurationName]?: readonly number[] | false };

/** The bounds of each histogram; `false`: it is not recorded. */
export type Buckets = Readonly<Record<DurationName, readonly number[] | false>>;
/** The bounds of each histogram unless a user gives others. */
export const EVERY_BUCKET: Buckets = { acquire: BUCKETS, wait: BUCKETS, hold: BUCKETS };

const INCREASING = 'increasing numbers, such as [0.01, 0.1, 1]';

const readBounds: OptionReader<readonly number[]> = (label, written) => {
  let before = -Infinity;
  const readBound = (at: string, bound: unknown): number =>
    Number.isFinite(bound) && Number(bound) > before ? (before = Number(bound)) : refuse(at, bound, INCREASING);
  return read.listOf(readBound, `a list of ${INCREASING}`)(label, written);
};
const ownBounds = or(
  (label, written): readonly number[] | false => written !== false && readBounds(label, written),
  BUCKETS,
);
const OF_EACH = new Options({ acquire: ownBounds, wait: ownBounds, hold: ownBounds });

/** The bounds of each histogram. @throws LockConfigError */
export const readBuckets: OptionReader<Buckets> = (label, written) => {
  if (isObject(written) && !Array.isArray(written)) return OF_EACH.nested(label, written);
  const bounds = readBounds(label, written);
  return { acquire: bounds, wait: bounds, hold: bounds };
};

/** Records a value: the seconds of a duration, or the increment of a count or a level. */
export type Recorder = (value: number, labels: Labels) => void;

/** A value that was read when the metrics were collected. */
export interface Reading {
  readonly measure: ReadingName;
  readonly value: number;
  readonly labels: Labels;
}

/** A library of metrics: makes the metric of a measurement, by its kind. */
export interface Instruments {
  duration(measure: Measure, bounds: number[]): Recorder;
  count(measure: Measure): Recorder;
  level(measure: Measure): Recorder;
  /** Makes the metric of all other kinds. It calls `read` when the metrics are collected. */
  reading(measure: Measure, read: () => Promise<readonly Reading[]>): void;
}

/** The pattern of all locks beyond the first `MOST_PATTERNS` patterns. */
export const OTHER = '(other)';
/** How many patterns become values of the label. A pattern with an id in it would make a series for each id. */
export const MOST_PATTERNS = 200;

/** The pattern of locks whose keys do not come from a template. */
export const MANUAL = '(manual)';

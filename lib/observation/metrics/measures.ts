/** Something that is measured. */
export interface Measure {
  readonly kind: 'duration' | 'count' | 'level';
  /** As OpenTelemetry writes it: `redis_lock.hold.duration`. */
  readonly name: string;
  readonly help: string;
  /** What its values are told apart by, beside the labels of all. */
  readonly labels: readonly Label[];
}

export type Label = 'lock.instance' | 'lock.pattern' | 'lock.type' | 'lock.outcome';

/** The values of labels. There is no key among them: each label has as few values as the code has locks. */
export type Labels = Partial<Record<Label, string>>;

/** What all are told apart by: the module, the key template, and the kind of lock. */
const OF_LOCK: readonly Label[] = ['lock.instance', 'lock.pattern', 'lock.type'];
const WITH_OUTCOME: readonly Label[] = [...OF_LOCK, 'lock.outcome'];

const measure =
  (kind: Measure['kind'], labels = OF_LOCK) =>
  (name: string, help: string): Measure => ({ kind, name: `redis_lock.${name}`, help, labels });

const duration = measure('duration', WITH_OUTCOME);
const count = measure('count');
const level = measure('level');

/** All that is measured. The names in Prometheus are made of these, so that one dashboard fits both. */
export const MEASURES = Object.freeze({
  acquire: duration(
    'acquire.duration',
    'How long calls that asked for a lock took (acquired, timeout, failed, aborted)',
  ),
  wait: duration('wait.duration', 'How long those waited whom others kept from the lock (acquired, timeout)'),
  hold: duration('hold.duration', 'How long locks were held (released, unreleased, lost)'),
  contended: count('contended', 'How often others held the lock'),
  handoffs: count('handoffs', 'How often a lock was handed to somebody who had waited for it'),
  renewals: count('renewals', 'How often a lease was renewed'),
  lost: count('lost', 'How often a lock ended under its holder'),
  waiting: level('waiting', 'How many calls have asked for a lock and have no answer yet'),
  held: level('held', 'How many locks are held'),
});

/** Bounds of the buckets of durations, in seconds: from a round trip to Redis to long jobs. */
export const BUCKETS: readonly number[] = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60, 300, 1_800],
];

/** The pattern of locks whose keys were made by hand. */
export const MANUAL = '(manual)';

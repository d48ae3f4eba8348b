/** One measurement. */
export interface Measure {
  readonly kind: 'duration' | 'count' | 'level';
  /** As OpenTelemetry writes it: `redis_lock.hold.duration`. */
  readonly name: string;
  readonly help: string;
  /** The names of its labels. */
  readonly labels: readonly Label[];
}

export type Label = 'lock.instance' | 'lock.pattern' | 'lock.type' | 'lock.outcome';

/** The values of labels. The key is not among them, so that a label has only as many values as the code has locks. */
export type Labels = Partial<Record<Label, string>>;

/** The labels of every measurement: the module instance, the key template, and the kind of lock. */
const OF_LOCK: readonly Label[] = ['lock.instance', 'lock.pattern', 'lock.type'];
const WITH_OUTCOME: readonly Label[] = [...OF_LOCK, 'lock.outcome'];

const measure =
  (kind: Measure['kind'], labels = OF_LOCK) =>
  (name: string, help: string): Measure => ({ kind, name: `redis_lock.${name}`, help, labels });

const duration = measure('duration', WITH_OUTCOME);
const count = measure('count');
const level = measure('level');

/** All measurements. The Prometheus names come from these, so that one dashboard fits both. */
export const MEASURES = Object.freeze({
  acquire: duration(
    'acquire.duration',
    'How long calls that asked for a lock took (acquired, timeout, skipped, failed, aborted)',
  ),
  wait: duration('wait.duration', 'Time spent waiting for a contended lock (acquired, timeout, skipped)'),
  hold: duration('hold.duration', 'How long locks were held (released, unreleased, lost)'),
  contended: count('contended', 'How often others held the lock'),
  handoffs: count('handoffs', 'How often a lock was handed off to a waiter'),
  timeouts: count('timeouts', 'How often a call got a LockTimeoutError since others held the lock'),
  skipped: count('skipped', 'How often a call went on without the lock since others held it'),
  renewals: count('renewals', 'How often a lease was renewed'),
  lost: count('lost', 'How often a lock was lost before its holder released it'),
  waiting: level('waiting', 'How many calls have asked for a lock and have no answer yet'),
  held: level('held', 'How many locks are held'),
});

/** The measurements that count. */
export const COUNTS = Object.freeze(
  Object.entries(MEASURES).flatMap(([id, { kind }]) => (kind === 'count' ? [id as keyof typeof MEASURES] : [])),
);

/** Upper bounds of the duration buckets, in seconds: from a round trip to Redis to long jobs. */
export const BUCKETS: readonly number[] = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60, 300, 1_800],
];

/** The pattern of locks whose keys do not come from a template. */
export const MANUAL = '(manual)';

import type { AcquiredLock, LockAcquisition, LockDiagnostics } from '../diagnostics/index.js';
import { collectReadings } from '../diagnostics/readings.js';
import type { LockEvent } from '../../engine/lock-event.js';
import { isLockError, isLockStoreError, isLockTimeoutError, LOSS_REASONS } from '../../errors/index.js';
import { quote } from '../../common/describe.js';
import { listenToLocks, type LockListeners } from './listen.js';
import { MANUAL, MEASURES, MOST_PATTERNS, OTHER } from './measures.js';
import type {
  Buckets,
  DurationName,
  EventName,
  Instruments,
  Labels,
  Measure,
  MeasureName,
  Reading,
  ReadingName,
  Recorder,
} from './measures.js';

/** Records a value of a measurement. */
type RecordValue = (measure: EventName, value: number, labels: Labels) => void;

/** The outcome of a call that acquires a lock. */
export type Outcome = 'acquired' | 'timeout' | 'skipped' | 'failed' | 'aborted';

/** Makes the labels of a lock. */
type Labeller = (lock: Pick<LockAcquisition, 'instance' | 'pattern' | 'kind'>) => Labels;

/**
 * Makes all metrics, and measures all locks of this process until the returned function is called.
 * @param start is called with each new set of labels
 */
export function measureLocks(
  instruments: Instruments,
  buckets: Buckets,
  start: (labels: Labels) => void = () => undefined,
): () => void {
  const labels = boundedLabels();
  const lastAcquired = new Map<string, Reading>();
  let reading: Promise<readonly Reading[]> | undefined;
  // One question for all metrics of a collection.
  const read = () =>
    (reading ??= readInstances(labels)
      .then((readings) => [...readings, ...lastAcquired.values()])
      .finally(() => (reading = undefined)));
  const recorders: Partial<Record<MeasureName, Recorder>> = {};
  for (const [id, measure] of MEASURE_LIST) {
    const { kind } = measure;
    const bounds = kind === 'duration' && buckets[id as DurationName];
    if (kind === 'count' || kind === 'level') recorders[id] = instruments[kind](measure);
    else if (bounds) recorders[id] = instruments.duration(measure, [...bounds]);
    else if (kind !== 'duration')
      instruments.reading(measure, async () => (await read()).filter((each) => each.measure === id));
  }
  const record: RecordValue = (id, value, about) => recorders[id]?.(value, about);
  return listenToLocks({
    ...acquisitionListeners(record, labels, start),
    ...eventListeners(record, labels, lastAcquired),
  });
}

const MEASURE_LIST = Object.entries(MEASURES) as ReadonlyArray<readonly [MeasureName, Measure]>;

async function readInstances(labelsOf: Labeller): Promise<Reading[]> {
  const instances = await collectReadings();
  return instances.flatMap(({ instance, candidates, holds, ...now }) => {
    const labels: Labels = { 'lock.instance': instance };
    const reading = (measure: ReadingName, value: number, more?: Labels): Reading => ({
      ...{ measure, value, labels: { ...labels, ...more } },
    });
    const elections = candidates.map((pattern) => labelsOf({ instance, pattern, kind: 'exclusive' })['lock.pattern']!);
    return merged([
      reading('reachable', Number(now.reachable)),
      reading('subscribed', Number(now.subscribed)),
      reading('disconnects', now.disconnects),
      reading('watchdogLag', inSeconds(now.watchdogLag)),
      ...(now.roundTrip === undefined ? [] : [reading('roundTrip', inSeconds(now.roundTrip))]),
      ...(now.clockAhead === undefined ? [] : [reading('clockAhead', inSeconds(now.clockAhead))]),
      ...elections.map((pattern) => reading('candidates', 1, { 'lock.pattern': pattern })),
      ...holds.map(({ age, ...hold }) => reading('oldestHold', inSeconds(age), labelsOf({ instance, ...hold }))),
    ]);
  });
}

/** One reading of an instance for each set of labels: candidates are counted, and of several holds the oldest counts. */
function merged(readings: readonly Reading[]): Reading[] {
  const byLabels = new Map<string, Reading>();
  for (const { measure, value, labels } of readings) {
    const id = `${measure}\n${idOf(labels)}`;
    const before = byLabels.get(id)?.value;
    const all = measure === 'candidates' ? (before ?? 0) + value : Math.max(before ?? value, value);
    byLabels.set(id, { measure, value: all, labels });
  }
  return [...byLabels.values()];
}

/** Labels with a bounded number of patterns: the label of every later pattern is `(other)`. */
function boundedLabels(): Labeller {
  const patterns = new Set<string>();
  let isWarned = false;
  return (lock) => {
    const labels = labelsOf(lock);
    const pattern = labels['lock.pattern']!;
    if (patterns.size < MOST_PATTERNS) patterns.add(pattern);
    if (patterns.has(pattern)) return labels;
    if (!isWarned) {
      process.emitWarning(
        `locks have more than ${MOST_PATTERNS} patterns; metrics count ${quote(pattern)} and all later ones as ${OTHER}. ` +
          "A pattern must not contain an id: write pattern: 'order:{id}' in the call that names the key",
        { type: 'LockMetricsWarning' },
      );
    }
    isWarned = true;
    return { ...labels, 'lock.pattern': OTHER };
  };
}

function acquisitionListeners(record: RecordValue, labelsOf: Labeller, start: (labels: Labels) => void): LockListeners {
  // Calls that began before the measuring are unknown, and are not counted when they end.
  const asked = new WeakMap<LockAcquisition, number>();
  const known = new Set<string>();
  return {
    asked(acquisition) {
      asked.set(acquisition, performance.now());
      const labels = labelsOf(acquisition);
      // Counters exist from the first call on, so that `increase()` of Prometheus sees the first loss: for a counter that
      // begins with 1 it returns 0.
      if (!known.has(idOf(labels))) {
        known.add(idOf(labels));
        for (const [id, { kind }] of MEASURE_LIST)
          if (kind === 'count' && id !== 'lost') record(id as EventName, 0, labels);
        for (const reason of Object.keys(LOSS_REASONS)) record('lost', 0, { ...labels, 'lock.loss_reason': reason });
        start(labels);
      }
      record('waiting', 1, labels);
    },
    answered(acquisition) {
      const since = asked.get(acquisition);
      if (since === undefined) return;
      const labels = labelsOf(acquisition);
      record('waiting', -1, labels);
      record('acquire', inSeconds(performance.now() - since), {
        ...labels,
        'lock.outcome': outcomeOf(acquisition),
      });
      if (isFailure(acquisition)) record('failed', 1, labels);
    },
  };
}

type EventOf<Type extends LockEvent['type']> = LockDiagnostics<Extract<LockEvent, { type: Type }>>;

const idOf = (labels: Labels): string => Object.values(labels).join('\n');

function eventListeners(record: RecordValue, labelsOf: Labeller, lastAcquired: Map<string, Reading>): LockListeners {
  const held = new Set<string>();
  const ended = (event: EventOf<'released' | 'unreleased' | 'lost'>): void => {
    const labels = labelsOf(event);
    record('hold', inSeconds(event.held), { ...labels, 'lock.outcome': event.type });
    if (held.delete(holdIdOf(event))) record('held', -1, labels);
  };
  const gaveUp = (event: EventOf<'timeout' | 'skipped'>): void => {
    const labels = labelsOf(event);
    record(event.type === 'timeout' ? 'timeouts' : 'skipped', 1, labels);
    record('wait', inSeconds(event.waited), { ...labels, 'lock.outcome': event.type });
  };
  return {
    contended: (event) => record('contended', 1, labelsOf(event)),
    acquired(event) {
      const labels = labelsOf(event);
      lastAcquired.set(idOf(labels), { measure: 'lastAcquired', value: inSeconds(Date.now()), labels });
      held.add(holdIdOf(event));
      record('held', 1, labels);
      if (!event.contended) return;
      record('handoffs', 1, labels);
      record('wait', inSeconds(event.waited), { ...labels, 'lock.outcome': 'acquired' });
    },
    timeout: gaveUp,
    skipped: gaveUp,
    renewed: (event) => record('renewals', 1, labelsOf(event)),
    released: ended,
    unreleased: ended,
    lost(event) {
      ended(event);
      record('lost', 1, { ...labelsOf(event), 'lock.loss_reason': event.lossReason });
    },
  };
}

/** The labels of a lock in measurements. */
export const labelsOf: Labeller = ({ instance, pattern = MANUAL, kind }) => ({
  'lock.instance': instance,
  'lock.pattern': pattern,
  'lock.kind': kind,
});

/**
 * Identifies a hold. Holds that share one in Redis have the same token, and some locks of Redisson's protocol have none.
 * Holds of one named owner have different tokens. A writer that also reads is one owner with a hold of each kind.
 */
export const holdIdOf = (hold: {
  readonly instance: string;
  readonly key: string;
  readonly kind: string;
  readonly fencingToken: number;
  readonly owner: string | undefined;
}): string => `${hold.instance} ${hold.fencingToken} ${hold.kind} ${hold.key} ${hold.owner}`;

/** The ids of all holds of an acquisition. */
export const holdIdsOf = ({ instance, kind }: LockAcquisition, { fencingTokens, holders }: AcquiredLock): string[] =>
  [...fencingTokens].map(([key, token]) =>
    holdIdOf({ instance, key, kind, fencingToken: token, owner: holders.get(key) }),
  );

export function outcomeOf({ result, error, optional, isClosing }: LockAcquisition): Outcome {
  if (result !== undefined) return 'acquired';
  if (isLockTimeoutError(error)) return optional ? 'skipped' : 'timeout';
  return isLockError(error) && !isClosing ? 'failed' : 'aborted';
}

/** Redis has failed the call. A shutdown refuses calls, too, and is no failure. */
export const isFailure = ({ error, isClosing }: LockAcquisition): boolean => isLockStoreError(error) && !isClosing;

const inSeconds = (ms: number): number => ms / 1_000;

import type { AcquiredLock, LockAcquisition, LockDiagnostics } from '../diagnostics/index.js';
import { collectReadings } from '../diagnostics/readings.js';
import type {
  LockLostEvent,
  LockReleasedEvent,
  LockSkippedEvent,
  LockTimeoutEvent,
  LockUnreleasedEvent,
} from '../../engine/lock-event.js';
import { isLockError, isLockStoreError, isLockTimeoutError, LOSS_REASONS } from '../../errors/index.js';
import { quote } from '../../common/describe.js';
import { listenToAcquisitions, listenToEvents } from './listen.js';
import {
  COUNTS,
  MANUAL,
  MOST_PATTERNS,
  OTHER,
  type EventName,
  type Labels,
  type ReadingName,
  type Recorders,
} from './measures.js';

const REASONS = Object.keys(LOSS_REASONS);

/** Records a value of a measurement. */
type RecordValue = (measure: EventName, value: number, labels: Labels) => void;

/** The outcome of a call that acquires a lock. */
export type Outcome = 'acquired' | 'timeout' | 'skipped' | 'failed' | 'aborted';

/** A value that was read when the metrics were collected. */
export interface Reading {
  readonly measure: ReadingName;
  readonly value: number;
  readonly labels: Labels;
}

/** Makes the labels of a lock. */
type Labeller = (lock: Pick<LockAcquisition, 'instance' | 'pattern' | 'kind'>) => Labels;

export interface LockMeasurement {
  stop(): void;
  /** Reads the current state of all instances of this process. */
  read(): Promise<readonly Reading[]>;
}

/** Measures all locks of this process, until it is stopped. `start` is called with each new set of labels. */
export function measureLocks(recorders: Recorders, start?: (labels: Labels) => void): LockMeasurement {
  const record: RecordValue = (measure, value, labels) => recorders[measure]?.(value, labels);
  const labels = boundedLabels();
  const lastAcquired = new Map<string, Reading>();
  const stops = [measureAcquisitions(record, labels, start), measureEvents(record, labels, lastAcquired)];
  let reading: Promise<readonly Reading[]> | undefined;
  return {
    stop: () => stops.forEach((stop) => stop()),
    // One question for all metrics of a collection.
    read: () =>
      (reading ??= readInstances(labels)
        .then((readings) => [...readings, ...lastAcquired.values()])
        .finally(() => (reading = undefined))),
  };
}

async function readInstances(labelsOf: Labeller): Promise<Reading[]> {
  const instances = await collectReadings();
  return instances.flatMap(
    ({ instance, reachable, subscribed, roundTrip, disconnects, clockAhead, watchdogLag, candidates, holds }) => {
      const labels: Labels = { 'lock.instance': instance };
      const oldest = new Map<string, Reading>();
      for (const { age, ...hold } of holds) {
        const own = labelsOf({ instance, ...hold });
        const id = idOf(own);
        const value = Math.max(inSeconds(age), oldest.get(id)?.value ?? 0);
        oldest.set(id, { measure: 'oldestHold', value, labels: own });
      }
      return [
        { measure: 'reachable', value: Number(reachable), labels },
        { measure: 'subscribed', value: Number(subscribed), labels },
        { measure: 'disconnects', value: disconnects, labels },
        { measure: 'watchdogLag', value: inSeconds(watchdogLag), labels },
        ...(roundTrip === undefined ? [] : [{ measure: 'roundTrip', value: inSeconds(roundTrip), labels } as const]),
        ...(clockAhead === undefined ? [] : [{ measure: 'clockAhead', value: inSeconds(clockAhead), labels } as const]),
        ...candidatesOf(candidates, labelsOf, instance),
        ...oldest.values(),
      ] satisfies Reading[];
    },
  );
}

/** How many candidates stand for the elections of each pattern. */
function candidatesOf(patterns: readonly string[], labelsOf: Labeller, instance: string): Reading[] {
  const counts = new Map<string, number>();
  for (const pattern of patterns) {
    const label = labelsOf({ instance, pattern, kind: 'exclusive' })['lock.pattern']!;
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].map(([pattern, value]) => ({
    ...{ measure: 'candidates', value, labels: { 'lock.instance': instance, 'lock.pattern': pattern } },
  }));
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

function measureAcquisitions(
  record: RecordValue,
  labelsOf: Labeller,
  start: ((labels: Labels) => void) | undefined,
): () => void {
  // Calls that began before the measuring are unknown, and are not counted when they end.
  const asked = new WeakMap<LockAcquisition, number>();
  const known = new Set<string>();
  return listenToAcquisitions({
    asked(acquisition) {
      asked.set(acquisition, performance.now());
      const labels = labelsOf(acquisition);
      // Counters exist from the first call on, so that `increase()` of Prometheus sees the first loss: for a counter that
      // begins with 1 it returns 0.
      if (!known.has(idOf(labels))) {
        known.add(idOf(labels));
        for (const count of COUNTS) if (count !== 'lost') record(count, 0, labels);
        for (const reason of REASONS) record('lost', 0, { ...labels, 'lock.loss_reason': reason });
        start?.(labels);
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
  });
}

const idOf = (labels: Labels): string => Object.values(labels).join('\n');

function measureEvents(record: RecordValue, labelsOf: Labeller, lastAcquired: Map<string, Reading>): () => void {
  const held = new Set<string>();
  const ended = (event: LockDiagnostics<LockReleasedEvent | LockUnreleasedEvent | LockLostEvent>): void => {
    const labels = labelsOf(event);
    record('hold', inSeconds(event.held), { ...labels, 'lock.outcome': event.type });
    if (held.delete(holdIdOf(event))) record('held', -1, labels);
  };
  const gaveUp = (event: LockDiagnostics<LockTimeoutEvent | LockSkippedEvent>): void => {
    const labels = labelsOf(event);
    record(event.type === 'timeout' ? 'timeouts' : 'skipped', 1, labels);
    record('wait', inSeconds(event.waited), { ...labels, 'lock.outcome': event.type });
  };
  return listenToEvents({
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
  });
}

/** The labels of a lock in measurements. */
export const labelsOf: Labeller = ({ instance, pattern = MANUAL, kind }) => ({
  'lock.instance': instance,
  'lock.pattern': pattern,
  'lock.kind': kind,
});

/**
 * Identifies a hold. Holds that share one in Redis have the same token, and some locks of Redisson's protocol have none.
 * Holds of one named owner have different tokens.
 */
export const holdIdOf = (hold: {
  readonly instance: string;
  readonly key: string;
  readonly fencingToken: number;
  readonly owner: string | undefined;
}): string => `${hold.instance} ${hold.fencingToken} ${hold.key} ${hold.owner}`;

/** The ids of all holds of an acquisition. */
export const holdIdsOf = ({ instance }: LockAcquisition, { fencingTokens, holders }: AcquiredLock): string[] =>
  [...fencingTokens].map(([key, fencingToken]) => holdIdOf({ instance, key, fencingToken, owner: holders.get(key) }));

export function outcomeOf({ result, error, optional, isClosing }: LockAcquisition): Outcome {
  if (result !== undefined) return 'acquired';
  if (isLockTimeoutError(error)) return optional ? 'skipped' : 'timeout';
  return isLockError(error) && !isClosing ? 'failed' : 'aborted';
}

/** Redis has failed the call. A shutdown refuses calls, too, and is no failure. */
export const isFailure = ({ error, isClosing }: LockAcquisition): boolean => isLockStoreError(error) && !isClosing;

const inSeconds = (ms: number): number => ms / 1_000;

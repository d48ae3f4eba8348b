import type { AcquiredLock, LockAcquisition, LockDiagnostics } from '../diagnostics/index.js';
import type {
  LockLostEvent,
  LockReleasedEvent,
  LockSkippedEvent,
  LockTimeoutEvent,
  LockUnreleasedEvent,
} from '../../engine/lock-event.js';
import { isLockError, isLockTimeoutError } from '../../errors/index.js';
import { listenToAcquisitions, listenToEvents } from './listen.js';
import { COUNTS, MANUAL, type Labels, type MEASURES } from './measures.js';

/** Records a value: the seconds of a duration, or the increment of a count or a level. */
export type Recorder = (measure: keyof typeof MEASURES, value: number, labels: Labels) => void;

/** The outcome of a call that acquires a lock. */
export type Outcome = 'acquired' | 'timeout' | 'skipped' | 'failed' | 'aborted';

/** Measures all locks of this process, until the returned function is called. */
export function measureLocks(record: Recorder): () => void {
  const stops = [measureAcquisitions(record), measureHolds(record), countEvents(record)];
  return () => stops.forEach((stop) => stop());
}

function measureAcquisitions(record: Recorder): () => void {
  // Calls that began before the measuring are unknown, and are not counted when they end.
  const asked = new WeakMap<LockAcquisition, number>();
  const known = new Set<string>();
  return listenToAcquisitions({
    asked(acquisition) {
      asked.set(acquisition, performance.now());
      const labels = labelsOf(acquisition);
      startCounts(record, labels, known);
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
    },
  });
}

/**
 * Counters exist from the first call on, so that `increase()` of Prometheus sees the first loss: for a counter that begins
 * with 1 it returns 0.
 */
function startCounts(record: Recorder, labels: Labels, known: Set<string>): void {
  const id = Object.values(labels).join('\n');
  if (known.has(id)) return;
  known.add(id);
  for (const count of COUNTS) record(count, 0, labels);
}

function measureHolds(record: Recorder): () => void {
  const held = new Set<string>();
  const ended = (event: LockDiagnostics<LockReleasedEvent | LockUnreleasedEvent | LockLostEvent>): void => {
    const labels = labelsOf(event);
    record('hold', inSeconds(event.held), { ...labels, 'lock.outcome': event.type });
    if (held.delete(holdIdOf(event))) record('held', -1, labels);
  };
  return listenToEvents({
    acquired(event) {
      held.add(holdIdOf(event));
      record('held', 1, labelsOf(event));
    },
    released: ended,
    unreleased: ended,
    lost: ended,
  });
}

function countEvents(record: Recorder): () => void {
  const gaveUp = (event: LockDiagnostics<LockTimeoutEvent | LockSkippedEvent>): void => {
    const labels = labelsOf(event);
    record(event.type === 'timeout' ? 'timeouts' : 'skipped', 1, labels);
    record('wait', inSeconds(event.waited), { ...labels, 'lock.outcome': event.type });
  };
  return listenToEvents({
    contended: (event) => record('contended', 1, labelsOf(event)),
    acquired(event) {
      if (!event.contended) return;
      const labels = labelsOf(event);
      record('handoffs', 1, labels);
      record('wait', inSeconds(event.waited), { ...labels, 'lock.outcome': 'acquired' });
    },
    timeout: gaveUp,
    skipped: gaveUp,
    renewed: (event) => record('renewals', 1, labelsOf(event)),
    lost: (event) => record('lost', 1, labelsOf(event)),
  });
}

/** The labels of a lock in measurements. */
export const labelsOf = ({
  instance,
  pattern = MANUAL,
  lockType,
}: Pick<LockAcquisition, 'instance' | 'pattern' | 'lockType'>): Labels => ({
  'lock.instance': instance,
  'lock.pattern': pattern,
  'lock.type': lockType,
});

/** Identifies a hold: no two holds of a key have the same token. */
export const holdIdOf = (hold: {
  readonly instance: string;
  readonly key: string;
  readonly fencingToken: number;
}): string => `${hold.instance} ${hold.fencingToken} ${hold.key}`;

/** The ids of all holds of an acquisition. */
export const holdIdsOf = ({ instance }: LockAcquisition, { fencingTokens }: AcquiredLock): string[] =>
  [...fencingTokens].map(([key, fencingToken]) => holdIdOf({ instance, key, fencingToken }));

export function outcomeOf({ result, error, optional }: LockAcquisition): Outcome {
  if (result !== undefined) return 'acquired';
  if (isLockTimeoutError(error)) return optional ? 'skipped' : 'timeout';
  return isLockError(error) ? 'failed' : 'aborted';
}

const inSeconds = (ms: number): number => ms / 1_000;

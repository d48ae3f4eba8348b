import type { LockMode } from '../store/lock-store.js';

/** One attempt to take a key. */
export interface RecordedAcquisition {
  readonly key: string;
  /** In which way: alone, for reading, or as permits of a semaphore. */
  readonly mode: LockMode['kind'];
  /** The owner that the caller named, if it named one. */
  readonly owner: string | undefined;
  /**
   * `'acquired'`; `'timeout'`: others held it for the whole wait, and the caller got a `LockTimeoutError`; `'skipped'`: the
   * same, and the caller does without the lock (`tryAcquire`, `onContended: 'skip'` or a function); `'aborted'`: the caller's `signal` ended the wait;
   * `'failed'`: it could not be had at all (the application shuts down, a reader that wants to write).
   */
  readonly outcome: AcquisitionOutcome;
}

export type AcquisitionOutcome = 'acquired' | 'timeout' | 'skipped' | 'aborted' | 'failed';

/**
 * What was locked, in the order in which it was decided. Re-entry is not told: it takes nothing. Of several keys that are
 * taken together each has an entry of its own.
 */
export class Acquisitions implements Iterable<RecordedAcquisition> {
  private readonly records: RecordedAcquisition[] = [];

  /** All of them. */
  get all(): readonly RecordedAcquisition[] {
    return [...this.records];
  }

  /** Those of one key. */
  of(key: string): readonly RecordedAcquisition[] {
    return this.records.filter((record) => record.key === key);
  }

  /** How often a key was acquired, or how often that had another outcome. */
  count(key: string, outcome: AcquisitionOutcome = 'acquired'): number {
    return this.of(key).filter((record) => record.outcome === outcome).length;
  }

  /** Forgets all of them. */
  clear(): void {
    this.records.length = 0;
  }

  [Symbol.iterator](): Iterator<RecordedAcquisition> {
    return this.all[Symbol.iterator]();
  }

  /** @internal */
  add(record: RecordedAcquisition): void {
    this.records.push(record);
  }
}

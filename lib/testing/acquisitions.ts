import type { HoldMode } from '../store/lock-store.js';

/** One attempt to acquire a key. */
export interface RecordedAcquisition {
  readonly key: string;
  /** How the lock was requested: exclusive, for reading, or as permits of a semaphore. */
  readonly kind: HoldMode['kind'];
  /** The owner, if the caller named one. */
  readonly owner: string | undefined;
  /**
   * `'acquired'`; `'timeout'`: other holders had it for the whole wait, and the caller got a `LockTimeoutError`;
   * `'skipped'`: the same, but the caller continues without the lock (`tryAcquire`, `onContended: 'skip'` or a
   * function); `'aborted'`: the caller's `signal` ended the wait; `'failed'`: it could not be acquired (the application
   * shuts down, a reader requested the exclusive lock).
   */
  readonly outcome: AcquisitionOutcome;
}

/** How a recorded acquisition ended. */
export type AcquisitionOutcome = 'acquired' | 'timeout' | 'skipped' | 'aborted' | 'failed';

/**
 * The attempts to acquire locks, in the order of their outcomes. Re-entry does not appear, because it acquires nothing.
 * Several keys that are acquired together have an entry each.
 */
export class Acquisitions implements Iterable<RecordedAcquisition> {
  private readonly records: RecordedAcquisition[] = [];

  /** All attempts. */
  get all(): readonly RecordedAcquisition[] {
    return [...this.records];
  }

  /** The attempts on one key. */
  of(key: string): readonly RecordedAcquisition[] {
    return this.records.filter((record) => record.key === key);
  }

  /** How many attempts on a key were successful, or had another outcome. */
  count(key: string, outcome: AcquisitionOutcome = 'acquired'): number {
    return this.of(key).filter((record) => record.outcome === outcome).length;
  }

  /** Removes all records. */
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

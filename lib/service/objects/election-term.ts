import type { LockHandle } from '../handles/lock-handle.js';

/** One term of a leader. */
export class ElectionTerm {
  /** Aborts when the term ends, for whatever reason. */
  readonly controller = new AbortController();
  /** Settles when the `onElected` listeners of this term have finished. */
  work: Promise<unknown> = Promise.resolve();
  /** Settles when the `onDeposed` listeners of this term have finished. */
  farewell: Promise<unknown> = Promise.resolve();
  /** Resolves when the lock has been released. */
  readonly released: Promise<void>;
  lockReleased!: () => void;

  constructor(readonly handle: LockHandle) {
    this.released = new Promise((resolve) => (this.lockReleased = resolve));
  }

  get isOver(): boolean {
    return this.controller.signal.aborted;
  }
}

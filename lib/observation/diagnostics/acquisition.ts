import { tracingChannel } from 'node:diagnostics_channel';
import { LOCK_CHANNELS } from './channels.js';

/**
 * One call that acquires one lock or several: the message on all channels of `tracingChannel(LOCK_CHANNELS.acquire)`, the
 * same object from `start` to `asyncEnd`, in the async context of the caller. There is no message for a re-entry.
 */
export interface LockAcquisition {
  /** The name of the module instance. */
  readonly instance: string;
  readonly keys: readonly string[];
  /** The key template as it was written, or the `pattern` of the call. */
  readonly pattern: string | undefined;
  /** The decorated method, `Class.method`; `undefined`: the call was made in code. */
  readonly method: string | undefined;
  readonly kind: 'exclusive' | 'read' | 'permits';
  /** Only if the caller set one. */
  readonly owner: string | undefined;
  /** In ms; 0: one try; `Infinity`: without limit. */
  readonly waitTimeout: number;
  /**
   * Whether the caller continues without the lock if others hold it: `tryAcquire`, `onContended: 'skip'` or a function.
   */
  readonly optional: boolean;
  /** Whether the application is shutting down by now, which refuses new calls and ends waits with a `LockStoreError`. */
  readonly isClosing: boolean;
  /** The result, once the call has succeeded. */
  result?: AcquiredLock;
  /** The error, once the call has failed. */
  error?: unknown;
}

/** The result of an acquisition for observers. It is not the handle, which only the holder may release. */
export interface AcquiredLock {
  readonly isHeld: boolean;
  /** The fencing token of each key. */
  readonly fencingTokens: ReadonlyMap<string, number>;
  /** The owner of the hold of each key, as its events name it. */
  readonly holders: ReadonlyMap<string, string>;
}

/** Publishes each acquisition. Nothing is described while it has no subscribers. */
export const acquisitions = tracingChannel<unknown, LockAcquisition>(LOCK_CHANNELS.acquire);

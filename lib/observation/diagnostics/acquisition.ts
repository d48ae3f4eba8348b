import { tracingChannel } from 'node:diagnostics_channel';
import { LOCK_CHANNELS } from './channels.js';

/**
 * One call that asks for one lock or several: the message on all channels of `tracingChannel(LOCK_CHANNELS.acquire)`, the
 * same object from `start` to `asyncEnd`, in the async context of the caller. Re-entry asks for nothing and is not told.
 */
export interface LockAcquisition {
  /** The name of the module instance. */
  readonly instance: string;
  readonly keys: readonly string[];
  /** The key template as it was written, or the `pattern` of the call. */
  readonly pattern: string | undefined;
  readonly lockType: 'exclusive' | 'read' | 'permits';
  /** Only where the caller named one. */
  readonly owner: string | undefined;
  /** ms; 0: one try; `Infinity`: for ever. */
  readonly waitTimeout: number;
  /** What it got, once it has ended well. */
  result?: AcquiredLock;
  /** Why it failed, once it has. */
  error?: unknown;
}

/** What an acquisition got, as far as observers are to know. The handle is its holder's: nobody else releases it. */
export interface AcquiredLock {
  readonly isHeld: boolean;
  /** The fencing token of each key. */
  readonly fencingTokens: ReadonlyMap<string, number>;
}

const acquisitions = tracingChannel<unknown, LockAcquisition>(LOCK_CHANNELS.acquire);

/** Does the work, and tells whoever listens; `about` is called only for them. */
export function traceAcquisition<Lock extends AcquiredLock>(
  about: () => LockAcquisition,
  work: () => Promise<Lock>,
): Promise<Lock> {
  return acquisitions.hasSubscribers ? acquisitions.tracePromise(work, about()) : work();
}

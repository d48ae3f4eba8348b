import type { OnContended, OnLost, OnUnavailable, ReleaseMode, KeyBuilder } from '../options/acquire-options.js';
import type { AcquireDefaults } from '../options/resolve-acquire-options.js';

/** The defaults of calls and decorators. */
export interface LockServiceDefaults extends AcquireDefaults {
  readonly onLost: OnLost;
  readonly onContended: OnContended;
  readonly onUnavailable: OnUnavailable;
  readonly release: ReleaseMode;
  /** The `waitTimeout` of methods that name neither one nor an `onContended`: 0 if `onContended` is not to throw. */
  readonly methodWaitTimeout: number;
  /** Makes the final keys of decorated methods and handlers. */
  readonly keyBuilder?: KeyBuilder | undefined;
}

/** The options of a service. */
export interface LockServiceOptions {
  readonly instance: string;
  readonly defaults: LockServiceDefaults;
  /** ms */
  readonly shutdownTimeout: number;
  /** ms; Infinity: without limit. */
  readonly drainTimeout: number;
}

/** Options of `LockService.forceRelease`. */
export interface ForceReleaseOptions {
  /**
   * The `id` of the hold to end, as `inspect` and `list` return it, or several of them. All other holds of the key stay. The
   * callers of one process that get a lock by local handoffs share an id.
   * @defaultValue all holds of the key
   */
  hold?: string | readonly string[];
  /**
   * Who releases the lock, such as `'ann@bastion'`. Its holders find it in their log, in the event `lost` and in
   * `LockLostError.forcedBy`.
   * @defaultValue the `label` of this client
   */
  by?: string;
}

import type { CallDefaults } from '../options/resolve-acquire-options.js';

/** What a service needs of the options of the module. */
export interface LockServiceOptions {
  readonly instance: string;
  readonly defaults: CallDefaults;
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

/** Options of `LockService.forceRelease`. */
export interface ForceReleaseOptions {
  /**
   * The `id` of the one hold to end, as `inspect` and `list` return it: one reader, or the permits of one caller. All other
   * holds of the key stay. The waiters of one process that get a lock in turn share an id, so the turn ends for all of them.
   * @defaultValue all holds of the key
   */
  hold?: string;
}

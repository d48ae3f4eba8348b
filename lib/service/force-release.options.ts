/** Options of `LockService.forceRelease`. */
export interface ForceReleaseOptions {
  /**
   * The `id` of the one hold to end, as `inspect` and `list` return it: one reader, or the permits of one caller. Or
   * several of them. All other holds of the key stay. The waiters of one process that get a lock by local handoffs share an id, so ending
   * that hold also ends the remaining handoffs.
   * @defaultValue all holds of the key
   */
  hold?: string | readonly string[];
}

/**
 * What is asked of a store that keeps count-down latches. A latch that does not exist counts 0: it is open. A call that
 * fails rejects with `LockStoreError`.
 */
export interface LatchStore {
  /** Makes a latch, unless there is one. It is gone, and open, when nobody has counted down for `lifetime` ms. */
  setCount(key: string, count: number, lifetime: number): Promise<boolean>;
  /** Counts down by one, once for each `id`, however often that arrives. Answers how much is left. */
  countDown(key: string, id: string): Promise<number>;
  /** Looks at a latch. The client hears `opened` if it comes to 0 within `patience` ms (0: it does not want to). */
  count(key: string, patience: number): Promise<LatchCount>;
}

/** What is known of a latch. */
export interface LatchCount {
  /** How much is left; 0: there is none, so it is open. */
  readonly left: number;
  /**
   * Which latch it is: each `setCount` that makes one gives it a name that no other has had under this key. So whoever
   * waits for one learns that it has opened also when the next one has been made since. `''` when there is none.
   */
  readonly latch: string;
}

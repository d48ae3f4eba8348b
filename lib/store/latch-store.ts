import type { ReplicateRequest } from './replicate-request.js';

/**
 * What is asked of a store that keeps count-down latches. A latch that does not exist counts 0: it is open. Each call that
 * changes a latch has an id of its own and has its effect once, however often it arrives. A call that fails rejects with
 * `LockStoreError`.
 */
export interface LatchStore {
  /** Makes a latch, unless there is one. It is gone when nobody has counted it down for `lifetime` ms. */
  setCount(request: SetCountRequest): Promise<boolean>;
  /** Counts down by one. */
  countDown(key: string, id: string): Promise<CountDownReply>;
  /**
   * Looks at a latch. The client hears `opened` if it comes to 0 within `patience` ms (0: it does not want to). `seen`:
   * the latches of which the client asks whether they have opened.
   */
  count(key: string, patience: number, seen: readonly string[]): Promise<LatchCount>;
  /**
   * Sees to it that at least `min` replicas have what the call `id` has done, waits at most `timeout` ms for that, and
   * answers how many have it.
   */
  replicate(request: ReplicateRequest): Promise<number>;
}

export interface SetCountRequest {
  readonly key: string;
  /** Id of the call, which becomes the name of the latch. */
  readonly id: string;
  readonly count: number;
  /** ms */
  readonly lifetime: number;
}

export interface CountDownReply {
  /** How much is left. */
  readonly left: number;
  /** Whether this call has counted; `false`: there was no latch. */
  readonly counted: boolean;
}

/** What is known of a latch. */
export interface LatchCount {
  /** How much is left; 0: there is none. */
  readonly left: number;
  /** Which latch it is: the id of the call that made it. `''` when there is none. */
  readonly latch: string;
  /**
   * Those of `seen` that have come to 0. A store remembers that for as long as the latch was to live, and for ten minutes
   * at least. A latch that is gone without being remembered has expired, or the store has lost it.
   */
  readonly opened: readonly string[];
}

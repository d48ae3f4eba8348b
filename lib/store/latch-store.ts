/**
 * The interface of a store that keeps count-down latches. A latch that does not exist counts 0: it is open. Each call
 * that changes a latch has its own id and takes effect once, even if it arrives several times. A call that fails
 * rejects with `LockStoreError`.
 */
export interface LatchStore {
  /** Creates a latch, unless one exists. It expires if no call counts it down for `lifetime` ms. */
  setCount(request: SetCountRequest): Promise<boolean>;
  /** Counts down by one. */
  countDown(key: string, id: string): Promise<CountDownReply>;
  /**
   * Reads a latch. The client receives `opened` if the count reaches 0 within `patience` ms (0: no message). `seen`:
   * the latches that the client has seen closed; the reply says which of them have opened.
   */
  count(key: string, patience: number, seen: readonly string[]): Promise<LatchCount>;
  /**
   * Deletes the latch of that name (see `LatchCount`), without opening it. Resolves to whether this call has deleted it. `id`:
   * that of the call.
   */
  delete(key: string, id: string, latch: string): Promise<boolean>;
  /**
   * Waits until at least `min` replicas have the write of the call `id`, for at most `timeout` ms. Resolves to the
   * number of replicas that have it.
   */
  replicate(request: ReplicateRequest): Promise<number>;
}

/** The count that a latch begins with. */
export interface SetCountRequest {
  readonly key: string;
  /** The id of the call, which becomes the name of the latch. */
  readonly id: string;
  readonly count: number;
  /** ms */
  readonly lifetime: number;
}

/** The state of a latch after a count-down. */
export interface CountDownReply {
  /** The count that is left. */
  readonly left: number;
  /** Whether this call has counted; `false`: there was no latch. */
  readonly counted: boolean;
}

/** The state of a latch. */
export interface LatchCount {
  /** The count that is left; 0: there is no latch. */
  readonly left: number;
  /** The name of the latch: the id of the call that made it; `''` if there is none. */
  readonly latch: string;
  /**
   * The latches of `seen` that have reached 0. A store remembers that as long as the latch would have lived, and at
   * least ten minutes: clients remember for nine which latch they have seen closed. If a latch is missing and not
   * remembered, it has expired or the store has lost it.
   */
  readonly opened: readonly string[];
}

/** Asks how many replicas have the write of an id: of a hold, or of a call that changed a latch. */
export interface ReplicateRequest {
  readonly key: string;
  readonly id: string;
  readonly min: number;
  /** ms */
  readonly timeout: number;
}

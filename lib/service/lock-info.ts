/** What Redis knows of a key, as `LockService.inspect` tells it. */
export interface LockInfo {
  readonly key: string;
  /** Those who hold the key; none while it is on its way from one to the next. */
  readonly holders: readonly LockHolderInfo[];
  /** The first holder's owner. */
  readonly owner: string | undefined;
  /** How many holds there are. */
  readonly holds: number;
  /** Milliseconds until Redis frees the key if nobody is heard of; -2 when it is not held. */
  readonly ttl: number;
  /**
   * The largest fencing token of those who hold it, else the last one that was set aside. Of those who have it in turn in
   * another process it is the first one's.
   */
  readonly fencingToken: number;
  /** Those who wait, first come first. */
  readonly waiters: readonly LockWaiterInfo[];
  /** The number of permits of a semaphore, where it was set at run time. */
  readonly permits: number | undefined;
}

/** One hold of a key. */
export interface LockHolderInfo {
  /** The acquisition's id: the client's id and a number. */
  readonly id: string;
  readonly owner: string;
  /** In which way it is held: alone, together with other readers, or with permits of a semaphore. */
  readonly type: 'exclusive' | 'read' | 'permits';
  /** How many permits it has; 0 where the lock is no semaphore. */
  readonly permits: number;
  /** The id of the client (one `LockService`) that holds it. */
  readonly client: string;
  readonly fencingToken: number;
  /** Milliseconds until its lease ends. */
  readonly ttl: number;
  /** Whether it has been released already, and the key stays taken for the rest of its `holdAtLeast`. */
  readonly kept: boolean;
  /** Since when, by the clock of the server. */
  readonly since: Date;
}

/** One ticket in the queue of a key; it may stand for several local waiters of its client. */
export interface LockWaiterInfo {
  readonly id: string;
  readonly owner: string;
  readonly type: 'exclusive' | 'read' | 'permits';
  /** How many permits it asks for; 0 where the lock is no semaphore. */
  readonly permits: number;
  readonly client: string;
}

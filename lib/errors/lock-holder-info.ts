/** One hold of a key. */
export interface LockHolderInfo {
  /** The id of the acquisition: the id of the client and a number. */
  readonly id: string;
  readonly owner: string;
  /** The mode: exclusive, together with other readers, or permits of a semaphore. */
  readonly type: 'exclusive' | 'read' | 'permits';
  /** How many permits it has; 0 if the lock is no semaphore. */
  readonly units: number;
  /** The id of the client (one `LockService`) that has it. */
  readonly client: string;
  readonly fencingToken: number;
  /** ms until its lease ends. */
  readonly ttl: number;
  /** Whether it has been released already, and the key stays taken for the rest of its `holdAtLeast`. */
  readonly kept: boolean;
  /** When it was granted, by the clock of the server. */
  readonly since: Date;
}

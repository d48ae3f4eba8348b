/** One hold of a key. */
export interface LockHolder {
  /** The id of the acquisition: the id of the client and a number. */
  readonly id: string;
  readonly owner: string;
  /** The kind: exclusive, together with other readers, or permits of a semaphore. */
  readonly kind: 'exclusive' | 'read' | 'permits';
  /** How many permits it has; 0 if the lock is no semaphore. */
  readonly units: number;
  /** The id of the client (one `LockService`) that has it. */
  readonly client: string;
  /** The `label` of that client: its host and process id, unless the module says otherwise. `undefined`: it is not known. */
  readonly label: string | undefined;
  /** The key template, or the `pattern` of the call. With several callers of one process, that of the first. */
  readonly pattern: string | undefined;
  /** The decorated method, `Class.method`; `undefined`: the call was made in code. */
  readonly method: string | undefined;
  /**
   * Whether its client is connected to Redis. The client of a process that has ended is not; a frozen process may be.
   * `undefined`: it is not known.
   */
  readonly connected: boolean | undefined;
  readonly fencingToken: number;
  /** ms until its lease ends. */
  readonly ttl: number;
  /**
   * ms of the lease that its client renews after each third. If less than a third of it is left, no process renews it any
   * more. `undefined`: the lease is fixed, or this is not known.
   */
  readonly renewedLease: number | undefined;
  /** Whether it is already released, while the key stays locked for the rest of its `holdAtLeast`. */
  readonly kept: boolean;
  /** When it was granted, by the clock of the server. */
  readonly since: Date;
}

/** Where a client acquires locks, for people: the pattern of the keys, the decorated method, and the lease that is renewed. */
export interface CallSite {
  readonly pattern: string | undefined;
  readonly method?: string | undefined;
  /** ms of the lease that the watchdog renews without limit; `undefined`: it renews none, or it is not known. */
  readonly renewedLease?: number | undefined;
}

/** What a client says of itself, for people. */
export interface ClientRecord {
  readonly label: string;
  /** The call sites by their numbers. The id of an acquisition ends with the number of its call site. */
  readonly sites: readonly CallSite[];
}

/** Keeps one record for each client. A store that cannot keep them leaves acquisitions without labels. */
export interface ClientRecordStore {
  /** Keeps the record of this client for `lifetime` ms, instead of the one before. */
  write(record: ClientRecord, lifetime: number): Promise<void>;
  /** The record of any client; `undefined`: it has none. */
  read(clientId: string): Promise<ClientRecord | undefined>;
  /**
   * Tells of clients whether they receive messages now. A client that is missing in the answer may or may not. If left out,
   * this store cannot tell.
   */
  connected?(clientIds: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
}

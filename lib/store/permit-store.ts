/**
 * The interface of a store that can change the permits of a semaphore while they are in use. A call takes effect once, even
 * if it arrives several times or late. A call that fails rejects with `LockStoreError`.
 */
export interface PermitStore {
  /** Adds to the number of permits, for all requests. Resolves to how many there are now; never fewer than 0. */
  add(request: AddPermitsRequest): Promise<number>;
  /**
   * Releases some of the permits of a hold. Resolves to how many it has now, or `'not-held'` if there is no such hold. A
   * hold never gets permits back, so a duplicate or late copy has no effect.
   */
  keepUnits(request: KeepUnitsRequest): Promise<number | 'not-held'>;
}

/** A change of the number of permits of a lock. */
export interface AddPermitsRequest {
  readonly key: string;
  /** The id of the call. */
  readonly id: string;
  /** How many to add; less than 0: to remove. */
  readonly change: number;
  /** The number of permits if none was set at run time. */
  readonly permits: number;
}

/** The number of permits that a hold keeps; the rest is released. */
export interface KeepUnitsRequest {
  readonly key: string;
  readonly id: string;
  /** How many permits the hold keeps. */
  readonly units: number;
  /** For how many ms the released permits stay taken. */
  readonly keep: number;
}

/** Asks for one part of the keys that are held, so that no request takes long. */
export interface ListRequest {
  /** The cursor of the last reply; `''`: from the beginning. */
  readonly cursor: string;
  /** About how many names the store looks at for this part. Names that are not locks count, too. */
  readonly budget: number;
}

/** One part of the list of all keys. */
export interface ListReply {
  /**
   * The keys of this part. A key may appear in two parts. A key that is acquired or released in the meantime may be
   * missing.
   */
  readonly keys: readonly string[];
  /** Where to continue; `undefined`: there are no more keys. */
  readonly cursor: string | undefined;
  /** The store's clock, in ms. The `since` of a hold refers to it. */
  readonly time: number;
}

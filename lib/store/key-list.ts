/** Asks for the keys that are held; for a part of them, so that no question is long. */
export interface ListRequest {
  /** Where to go on: what the last reply said; `''`: from the beginning. */
  readonly cursor: string;
  /** At how many names the store looks for this part, about; whatever else is kept beside the locks counts. */
  readonly budget: number;
}

export interface ListReply {
  /** Those of this part; one may be in two parts, and one that is taken or freed meanwhile in none. */
  readonly keys: readonly string[];
  /** Where to go on; `undefined`: that was all. */
  readonly cursor: string | undefined;
  /** The store's clock, in ms: by that holds tell since when they are. */
  readonly time: number;
}

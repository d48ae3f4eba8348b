export interface PlannedFault {
  readonly id: number;
  readonly kind: string;
  /** ms from the start of the run. */
  readonly at: number;
  readonly alone: boolean;
  readonly lasts?: number;
  /** ms from its beginning to its end, where that is more than `lasts`. */
  readonly takes?: number;
}

export interface FaultScope {
  readonly seed: number;
  readonly length: number;
  readonly kinds: readonly object[];
  readonly clients: readonly string[];
  readonly servers: number;
  /** How many places with servers there are between which and a client the network can fail; default: `servers`. */
  readonly networks?: number;
  readonly keys: readonly string[];
}

export declare function planFaults(scope: FaultScope): PlannedFault[];

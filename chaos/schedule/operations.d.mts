export declare const PERMITS: number;

export interface OperationScope {
  readonly seed: number;
  readonly client: string;
  readonly loop: number;
  readonly keys: readonly string[];
  readonly kinds: readonly string[];
  /** Only callers of this sort. */
  readonly holders?: string;
}

export interface PlannedOperation {
  readonly kind: string;
  readonly mode: string;
  readonly step?: { readonly does: string };
}

export declare const HOLDER_NAMES: readonly string[];
export declare function planOperations(scope: OperationScope): Generator<PlannedOperation, never>;

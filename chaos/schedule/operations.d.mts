export declare const PERMITS: number;

export interface OperationScope {
  readonly seed: number;
  readonly client: string;
  readonly loop: number;
  readonly keys: readonly string[];
  readonly kinds: readonly string[];
}

export declare function planOperations(scope: OperationScope): Generator<{ readonly kind: string }, never>;

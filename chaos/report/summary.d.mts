import type { ExcusedFinding, Finding, Verdict } from '../checker/check.mjs';

type Counts = Readonly<Record<string, number>>;

export interface Spread {
  readonly median: number | undefined;
  readonly worst: number | undefined;
}

export interface Summary {
  readonly seed: number;
  readonly topology: string;
  readonly seconds: number;
  readonly violations: readonly Finding[];
  readonly excused: readonly ExcusedFinding[];
  /** How acquisitions ended. */
  readonly acquisitions: Counts;
  /** Kinds of locks that were granted. */
  readonly kinds: Counts;
  readonly holds: number;
  readonly lost: number;
  /** Holds of each client. */
  readonly clients: Counts;
  readonly faults: Counts;
  /** ms that a pulse takes while no fault is in force. */
  readonly calmPulse: Spread;
  /** ms to normal service, for each kind of fault. */
  readonly recovery: ReadonlyArray<{
    readonly kind: string;
    readonly count: number;
    readonly never: number;
    readonly fromBegin: Spread;
    readonly fromEnd: Spread;
  }>;
}

export declare function summarise(verdict: Verdict): Summary;
export declare function print(summary: Summary): string;

import type { ChaosEvent, Verdict } from '../checker/check.mjs';
import type { Summary } from './summary.mjs';

export interface WrittenRun {
  readonly events: readonly ChaosEvent[];
  readonly verdict: Verdict;
  readonly summary: Summary;
}

export declare function writeRun(run: WrittenRun): string;

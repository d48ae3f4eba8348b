import type { LockService } from '../../lib/service/lock.service.ts';
import type { BelievedHold } from '../history/history.js';

export interface RandomSections {
  readonly who: string;
  readonly seed: number;
  readonly keys: readonly string[];
  /** How many run at the same time. */
  readonly loops: number;
}

/** What has happened so far. */
export interface SectionsReport {
  /** Stretches in which `isHeld` was seen to be true, from the first to the last time. */
  readonly holds: BelievedHold[];
  /** How acquisitions ended: `held`, `null`, `aborted`, or the code of the error. */
  readonly outcomes: Record<string, number>;
  /** Acquisitions without an outcome. */
  readonly pending: number;
  /** Outcomes that came later than the wait and a few round trips allow, the process itself having run all the time. */
  readonly late: string[];
  /** What nobody expects. */
  readonly surprises: string[];
}

export declare function random(seed: number): () => number;
export declare function startRandomSections(
  service: Pick<LockService, 'acquire' | 'tryAcquire' | 'run'>,
  options: RandomSections,
): { stop(): Promise<void>; report(): SectionsReport };

/** A line of a history. `at` is in ms, on a clock that all processes share. */
export interface ChaosEvent {
  readonly at: number;
  readonly type: string;
  readonly [detail: string]: unknown;
}

export interface Finding {
  readonly rule: string;
  readonly at: number;
  /** Where it is about a time that has ended with `at`: when that began. */
  readonly since?: number;
  readonly key?: string;
  readonly message: string;
  /** The operations concerned. */
  readonly operations: readonly string[];
}

/** What an assumption that was broken on purpose explains. */
export interface ExcusedFinding extends Finding {
  readonly assumption: string;
  readonly fault: number;
}

export interface Verdict {
  readonly violations: readonly Finding[];
  readonly excused: readonly ExcusedFinding[];
  /** The history as rules, summary and pictures read it. */
  readonly model: object;
}

export declare function check(events: readonly ChaosEvent[]): Verdict;

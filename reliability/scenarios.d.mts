export interface Scenario {
  readonly topology: string;
  readonly fault: string;
  readonly hold: 'kept' | 'lost' | 'either';
  /** ms */
  readonly within: number;
  readonly test: string;
}
export const SCENARIOS: readonly Scenario[];

/** What the callers of runs were told, and what they did. */
export interface Outcomes {
  visits: number;
  held: number;
  /** How many had it without that the store heard of it. */
  inTurn: number;
  timeouts: number;
  storeFailures: number;
  aborted: number;
  upgrades: number;
  /** Told as lost while they were in their section. */
  lost: number;
  /** In the midst of a visit when their process crashed. */
  crashed: number;
  /** Of leaders. */
  terms: number;
  scripts: number;
  /** Runs over several masters. */
  quorums: number;
  /** Visits in these, and how many of them had what they wanted. */
  quorumVisits: number;
  quorumHeld: number;
  /** How often a master took the vote of a hold again. */
  reinstated: number;
  faults: number;
  steps: number;
}

export const noOutcomes = (): Outcomes => ({
  ...{ visits: 0, held: 0, inTurn: 0, timeouts: 0, storeFailures: 0, aborted: 0, upgrades: 0, lost: 0 },
  ...{
    crashed: 0,
    terms: 0,
    scripts: 0,
    quorums: 0,
    quorumVisits: 0,
    quorumHeld: 0,
    reinstated: 0,
    faults: 0,
    steps: 0,
  },
});

export function addOutcomes(sum: Outcomes, outcomes: Outcomes): void {
  for (const name of Object.keys(sum) as Array<keyof Outcomes>) sum[name] += outcomes[name];
}

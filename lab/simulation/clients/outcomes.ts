/** The results that the callers of runs received, and their actions. */
export interface Outcomes {
  visits: number;
  held: number;
  /** Number of visits that got the lock without the store being notified. */
  inTurn: number;
  timeouts: number;
  storeFailures: number;
  aborted: number;
  upgrades: number;
  /** Holds reported as lost while their holder was in its section. */
  lost: number;
  /** Visits that were under way when their process crashed. */
  crashed: number;
  /** Locks that callers have offered to other processes, and that those have adopted. */
  offered: number;
  adopted: number;
  /** Of leaders. */
  terms: number;
  scripts: number;
  /** Of them by a master that had been replaced, and did not know. */
  belated: number;
  /** Runs over several masters. */
  quorums: number;
  /** Visits in runs with a quorum, and the number of them that got their lock. */
  quorumVisits: number;
  quorumHeld: number;
  /** Number of times a master accepted the vote of a hold again. */
  reinstated: number;
  faults: number;
  steps: number;
}

export const noOutcomes = (): Outcomes => ({
  ...{ visits: 0, held: 0, inTurn: 0, timeouts: 0, storeFailures: 0, aborted: 0, upgrades: 0, lost: 0 },
  ...{
    crashed: 0,
    offered: 0,
    adopted: 0,
    terms: 0,
    scripts: 0,
    belated: 0,
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

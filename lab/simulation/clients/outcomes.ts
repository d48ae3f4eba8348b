/** The results that the callers of runs received, and their actions. */
const NONE = {
  visits: 0,
  held: 0,
  /** Number of visits that got the lock without the store being notified. */
  inTurn: 0,
  timeouts: 0,
  storeFailures: 0,
  aborted: 0,
  upgrades: 0,
  /** Holds reported as lost while their holder was in its section. */
  lost: 0,
  /** Visits that were under way when their process crashed. */
  crashed: 0,
  /** Locks that callers have offered to other processes, and that those have adopted. */
  offered: 0,
  adopted: 0,
  /** Of leaders. */
  terms: 0,
  scripts: 0,
  /** Of them by a master that had been replaced, and did not know. */
  belated: 0,
  /** Runs over several masters. */
  quorums: 0,
  /** Visits in runs with a quorum, and the number of them that got their lock. */
  quorumVisits: 0,
  quorumHeld: 0,
  /** Number of times a master accepted the vote of a hold again. */
  reinstated: 0,
  faults: 0,
  steps: 0,
};

export type Outcomes = typeof NONE;

export const noOutcomes = (): Outcomes => ({ ...NONE });

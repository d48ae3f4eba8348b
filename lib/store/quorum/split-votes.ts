import { othersIn } from './quorum-decision.js';
import type { MemberState } from './member-state.js';

/** How many attempts to resolve a split vote are made before all votes are released. */
const MOST_SPLITS = 4;
/** The longest first pause between attempts, in ms. Each further limit is twice as long. */
const JITTER = 8;
/** After how many ms a split vote that was not resolved is tried again. Each further delay is twice as long. */
const AFTER_SPLIT = 50;
const LONGEST_AFTER_SPLIT = 1_000;

/**
 * Resolves split votes for an acquisition that waits. The count covers all its attempts as long as the rivals are the
 * same: a vote that was released to the queue comes back as a pushed grant, and a rival may have crashed.
 */
export class SplitVotes {
  /**
   * The age backoff in ms: by how much the request reduces its age, to separate it from requests of the same moment.
   */
  ageBackoff = 0;
  private others = '';
  private splits = 0;
  private unsettled = 0;

  constructor(private readonly random: () => number) {}

  /** How many ms to pause before the next request about a split vote; `undefined`: release all votes. */
  pause(states: readonly MemberState[]): number | undefined {
    const others = othersIn(states);
    this.splits = others === this.others ? this.splits + 1 : 1;
    this.others = others;
    if (this.splits > MOST_SPLITS) return undefined;
    const longest = JITTER * 2 ** (this.splits - 1);
    // If the queues have not resolved it, several requests came at the same moment.
    if (this.splits > 1) this.ageBackoff += this.random() * longest;
    return this.random() * longest;
  }

  /** In how many ms an unresolved vote is tried again. */
  retryIn(): number {
    const delay = AFTER_SPLIT * 2 ** this.unsettled * (0.5 + this.random());
    this.unsettled += 1;
    return Math.min(delay, LONGEST_AFTER_SPLIT);
  }
}

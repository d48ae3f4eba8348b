import { othersIn } from './quorum-decision.js';
import type { MemberState } from './member-state.js';

/** How often a split vote is tried to be settled before everything is given back. */
const MOST_SPLITS = 4;
/** The first of the pauses between takes so many ms at most, each further one twice as long. */
const JITTER = 8;
/** How many ms after a split vote that was not settled it is tried again; each time twice as long. */
const AFTER_SPLIT = 50;
const LONGEST_AFTER_SPLIT = 1_000;

/**
 * How an acquisition that waits gets out of split votes. They are counted over all its attempts for as long as the same others are
 * in the way: a grant that was yielded comes back by a push, and who is in the way may be dead.
 */
export class SplitVotes {
  /** How many ms younger it is to make itself than it is, to part from those who came at the same moment. */
  ageBackoff = 0;
  private others = '';
  private splits = 0;
  private unsettled = 0;

  constructor(private readonly random: () => number) {}

  /** How many ms to pause before the next question about a vote that is split; `undefined`: give everything back. */
  pause(states: readonly MemberState[]): number | undefined {
    const others = othersIn(states);
    this.splits = others === this.others ? this.splits + 1 : 1;
    this.others = others;
    if (this.splits > MOST_SPLITS) return undefined;
    const longest = JITTER * 2 ** (this.splits - 1);
    // Where the queues have not settled it, some came at the same moment.
    if (this.splits > 1) this.ageBackoff += this.random() * longest;
    return this.random() * longest;
  }

  /** In how many ms a vote that was not settled is worth another question. */
  retryIn(): number {
    const delay = AFTER_SPLIT * 2 ** this.unsettled * (0.5 + this.random());
    this.unsettled += 1;
    return Math.min(delay, LONGEST_AFTER_SPLIT);
  }
}

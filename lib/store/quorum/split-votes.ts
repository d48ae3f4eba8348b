import { othersIn } from './quorum-decision.js';
import type { MemberState } from './member-state.js';
import { precedes } from './precedence.js';
import { tripOf, type TieBreakStep } from './tie-break.js';

/** How many attempts to resolve a split vote are made before all votes are released. */
const MOST_SPLITS = 4;
/** The longest random part of the first pause between attempts, in ms. Each further limit is twice as long. */
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

  constructor(
    private readonly id: string,
    private readonly random: () => number,
  ) {}

  /**
   * What to do about a split vote; `undefined`: release all votes. Requests that arrive within a round trip have
   * different orders on distant masters. So all of them but the first in the order of `precedes` fall behind by a round
   * trip at once. These requests reach the masters within half a round trip, and then the votes go to the queues.
   */
  move(states: readonly MemberState[]): TieBreakStep | undefined {
    const others = othersIn(states);
    this.splits = others === this.others ? this.splits + 1 : 1;
    this.others = others;
    if (this.splits > MOST_SPLITS) return undefined;
    const longest = JITTER * 2 ** (this.splits - 1);
    const trip = tripOf(states);
    const isFirst = !states.some(({ holders }) => holders.some((holder) => precedes(holder, this.id)));
    const isFar = trip > JITTER;
    // If the queues have not resolved it, several requests came at the same moment.
    if (this.splits > (isFar && isFirst ? 2 : 1)) this.ageBackoff += this.random() * longest;
    if (isFar && !isFirst) this.ageBackoff += trip;
    // The first one asks when the others have released their votes: otherwise it would learn of its grants by messages.
    const jitter = isFar && isFirst ? longest : this.random() * longest;
    return { keeps: true, asks: isFar && !isFirst, pause: trip / 2 + jitter };
  }

  /** In how many ms an unresolved vote is tried again. */
  retryIn(states: readonly MemberState[]): number {
    const delay = Math.max(AFTER_SPLIT, tripOf(states)) * 2 ** this.unsettled * (0.5 + this.random());
    this.unsettled += 1;
    return Math.min(delay, LONGEST_AFTER_SPLIT);
  }
}

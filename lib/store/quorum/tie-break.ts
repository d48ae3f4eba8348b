import { precedes } from './precedence.js';
import type { MemberState } from './member-state.js';

/** How long a single try lasts: this many round trips, and this many ms. */
const TRIPS = 6;
const LEAST = 40;
/** A master that was frozen makes a try no longer than a distant one does. */
const LONGEST_TRIP = 250;
/** How long a rival that comes first is given to get its majority. If it has none by then, it may have crashed. */
const PATIENCE_TRIPS = 2;
const LEAST_PATIENCE = 10;
/** How long the winner waits for the losers' votes before it asks again: a part of a round trip, and this many ms. */
const PART_OF_TRIP = 1 / 4;
const LEAST_PAUSE = 2;

/** The longest time of a try in ms, for this round trip. It includes the last replies and the token. */
export const longestTry = (roundTrip: number): number => (TRIPS + 2) * Math.min(roundTrip, LONGEST_TRIP) + 2 * LEAST;

/** The slowest measured round trip to a master, in ms. */
export const tripOf = (states: readonly MemberState[]): number =>
  Math.min(Math.max(...states.map(({ roundTrip }) => roundTrip)), LONGEST_TRIP);

/** What to do about a split vote: whether to keep the votes, and in how many ms to ask again. */
export interface TieBreakStep {
  readonly keeps: boolean;
  /** Whether to ask the other masters before the pause, too. */
  readonly asks?: boolean;
  readonly pause: number;
}

/**
 * Breaks the tie of a split vote for an acquisition that does not wait. The replies name the holders of the other
 * votes. The first acquisition in the order of `precedes` keeps its votes and asks for the others. All others release
 * their votes at once and look again later, since the first one may have crashed. All times depend on the measured
 * round trips.
 */
export class TieBreak {
  /** By rival that comes first: until when it has the chance to get its majority. */
  private readonly chances = new Map<string, number>();

  constructor(
    private readonly id: string,
    private readonly since: number,
  ) {}

  /** The next step; `undefined`: the try is over, and the lock counts as held by other clients. */
  move(states: readonly MemberState[], quorum: number, now: number): TieBreakStep | undefined {
    if (states.filter(isTakenByUnnamed).length > states.length - quorum) return undefined;
    const trip = tripOf(states);
    const first = this.firstAmong(states, now);
    if (first !== undefined && !this.chances.has(first)) {
      this.chances.set(first, now + PATIENCE_TRIPS * trip + LEAST_PATIENCE);
    }
    const pause = first === undefined ? trip * PART_OF_TRIP + LEAST_PAUSE : this.chances.get(first)! - now;
    return now + pause < this.since + TRIPS * trip + LEAST ? { keeps: first === undefined, pause } : undefined;
  }

  /** The first of the rivals that come before this acquisition and have not used up their chance. */
  private firstAmong(states: readonly MemberState[], now: number): string | undefined {
    return states
      .flatMap(({ holders }) => holders)
      .filter((holder) => precedes(holder, this.id) && (this.chances.get(holder) ?? Infinity) > now)
      .sort((a, b) => (precedes(a, b) ? -1 : 1))[0];
  }
}

/** For example, a key that is kept for its `holdAtLeast`: no client will release it. */
const isTakenByUnnamed = ({ isAnswered, standing, holders }: MemberState): boolean =>
  isAnswered && standing === 'busy' && holders.length === 0;

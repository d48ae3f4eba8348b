import { precedes } from './precedence.js';
import type { MemberState } from './member-state.js';

/** How long a try goes on asking: so many round trips, and so many ms. */
const TRIPS = 6;
const LEAST = 40;
/** A master that was frozen makes no try longer than a far one does. */
const LONGEST_TRIP = 250;
/** How long a rival that comes first is given to get its majority; one that has not got it by then may be dead. */
const PATIENCE_TRIPS = 2;
const LEAST_PATIENCE = 10;
/** How long the winner waits for the losers' votes before it asks again: a part of a round trip, and so many ms. */
const PART_OF_TRIP = 1 / 4;
const LEAST_PAUSE = 2;

/** How many ms a try takes at most, with round trips of so many ms: the last answers and the token come behind that. */
export const longestTry = (roundTrip: number): number => (TRIPS + 2) * Math.min(roundTrip, LONGEST_TRIP) + 2 * LEAST;

/** What to do about a split vote: whether to keep the votes meanwhile, and in how many ms to ask again. */
export interface Move {
  readonly keeps: boolean;
  readonly pause: number;
}

/**
 * How an acquisition that does not wait gets out of a split vote. The answers name who has the other votes. Whoever comes
 * first by the order of `precedes` keeps its votes and asks for the others; everybody else gives its votes back at once
 * and looks again later, since the first one may be dead. All times follow the round trips that were measured.
 */
export class Contest {
  /** Those to whom this acquisition has given way → until when they have their chance. */
  private readonly chances = new Map<string, number>();

  constructor(
    private readonly id: string,
    private readonly since: number,
  ) {}

  /** `undefined`: it is over, and the lock counts as held by others. */
  move(states: readonly MemberState[], quorum: number, now: number): Move | undefined {
    if (states.filter(isTakenByUnnamed).length > states.length - quorum) return undefined;
    const trip = Math.min(Math.max(...states.map(({ roundTrip }) => roundTrip)), LONGEST_TRIP);
    const first = this.firstAmong(states, now);
    if (first !== undefined && !this.chances.has(first)) {
      this.chances.set(first, now + PATIENCE_TRIPS * trip + LEAST_PATIENCE);
    }
    const pause = first === undefined ? trip * PART_OF_TRIP + LEAST_PAUSE : this.chances.get(first)! - now;
    return now + pause < this.since + TRIPS * trip + LEAST ? { keeps: first === undefined, pause } : undefined;
  }

  /** The first of those that come before this acquisition, and have not had their chance. */
  private firstAmong(states: readonly MemberState[], now: number): string | undefined {
    return states
      .flatMap(({ holders }) => holders)
      .filter((holder) => precedes(holder, this.id) && (this.chances.get(holder) ?? Infinity) > now)
      .sort((a, b) => (precedes(a, b) ? -1 : 1))[0];
  }
}

/** A key that is kept for its `holdAtLeast`, for instance: nobody will give it back. */
const isTakenByUnnamed = ({ isAnswered, standing, holders }: MemberState): boolean =>
  isAnswered && standing === 'busy' && holders.length === 0;

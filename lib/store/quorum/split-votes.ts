import type { QuorumContext } from './round.js';
import type { Vote } from './vote.js';
import type { Votes } from './votes.js';

/**
 * Which of two acquisitions keeps its votes if neither has a majority. Every client computes the same order from the
 * ids alone, without a clock. It is as good as random: no client always comes first. Clients of all versions must agree
 * on it.
 */
export function precedes(id: string, other: string): boolean {
  const [mine, theirs] = [lotOf(id), lotOf(other)];
  return mine === theirs ? id < other : mine < theirs;
}

/** The FNV-1a hash of an id, 32 bits. */
function lotOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  // Ids of one client differ in their last digits only. These must affect all bits.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** How long a single try lasts: this many round trips, and this many ms. */
const TRIPS = 6;
const LEAST = 40;
/** How long a rival that comes first is given to get its majority. If it has none by then, it may have crashed. */
const PATIENCE_TRIPS = 2;
const LEAST_PATIENCE = 10;
/** How long the winner waits for the losers' votes before it asks again: a part of a round trip, and this many ms. */
const PART_OF_TRIP = 1 / 4;
const LEAST_PAUSE = 2;

/** A master that was frozen makes a try no longer than a distant one does. */
const LONGEST_TRIP = 250;

/** The slowest round trip to a master, in ms. */
function roundTripOf({ members }: QuorumContext): number {
  const reachable = members.filter(({ store }) => store.unreachable === undefined);
  return Math.min(Math.max(0, ...reachable.map(({ roundTrip }) => roundTrip)), LONGEST_TRIP);
}

/** The longest time of a try in ms. It includes the last replies and the token. */
export const longestTry = (context: QuorumContext): number => (TRIPS + 2) * roundTripOf(context) + 2 * LEAST;

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
  private readonly since: number;

  constructor(
    private readonly context: QuorumContext,
    private readonly id: string,
  ) {
    this.since = context.clock.now();
  }

  /** The next step; `undefined`: the try is over, and the lock counts as held by other clients. */
  move(votes: Votes): TieBreakStep | undefined {
    if (votes.areMinorityWithout(isTakenByUnnamed)) return undefined;
    const now = this.context.clock.now();
    const trip = roundTripOf(this.context);
    const first = this.firstAmong(votes.rivals, now);
    if (first !== undefined && !this.chances.has(first)) {
      this.chances.set(first, now + PATIENCE_TRIPS * trip + LEAST_PATIENCE);
    }
    const pause = first === undefined ? trip * PART_OF_TRIP + LEAST_PAUSE : this.chances.get(first)! - now;
    return now + pause < this.since + TRIPS * trip + LEAST ? { keeps: first === undefined, pause } : undefined;
  }

  /** The first of the rivals that come before this acquisition and have not used up their chance. */
  private firstAmong(rivals: readonly string[], now: number): string | undefined {
    return rivals
      .filter((holder) => precedes(holder, this.id) && (this.chances.get(holder) ?? Infinity) > now)
      .sort((a, b) => (precedes(a, b) ? -1 : 1))[0];
  }
}

/** For example, a key that is kept for its `holdAtLeast`: no client will release it. */
const isTakenByUnnamed = ({ isAnswered, standing, holders }: Vote): boolean =>
  isAnswered && standing.outcome === 'busy' && holders.length === 0;

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
    private readonly context: QuorumContext,
    private readonly id: string,
  ) {}

  /**
   * What to do about a split vote; `undefined`: release all votes. Requests that arrive within a round trip have
   * different orders on distant masters. So all of them but the first in the order of `precedes` fall behind by a round
   * trip at once. These requests reach the masters within half a round trip, and then the votes go to the queues.
   */
  move({ rivals }: Votes): TieBreakStep | undefined {
    const { random } = this.context;
    const trip = roundTripOf(this.context);
    const others = [...rivals].sort().join(' ');
    this.splits = others === this.others ? this.splits + 1 : 1;
    this.others = others;
    if (this.splits > MOST_SPLITS) return undefined;
    const longest = JITTER * 2 ** (this.splits - 1);
    const isFirst = !rivals.some((holder) => precedes(holder, this.id));
    const isFar = trip > JITTER;
    // If the queues have not resolved it, several requests came at the same moment.
    if (this.splits > (isFar && isFirst ? 2 : 1)) this.ageBackoff += random() * longest;
    if (isFar && !isFirst) this.ageBackoff += trip;
    // A single try waits in no queue, so the queues would give this acquisition its votes again and again.
    const keeps = isFirst || this.splits === 1;
    // The first one asks when the others have released their votes: otherwise it would learn of its grants by messages.
    // The others ask when the first one has asked for the votes that they released.
    const jitter = (isFar && isFirst) || !keeps ? longest : random() * longest;
    return { keeps, asks: isFar && !isFirst && keeps, pause: trip / 2 + jitter };
  }

  /** In how many ms an unresolved vote is tried again. */
  retryIn(): number {
    const delay =
      Math.max(AFTER_SPLIT, roundTripOf(this.context)) * 2 ** this.unsettled * (0.5 + this.context.random());
    this.unsettled += 1;
    return Math.min(delay, LONGEST_AFTER_SPLIT);
  }
}

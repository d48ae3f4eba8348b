import { readingClock } from '../../common/reading-timer.js';
import type { AcquireRequest } from '../lock-store.js';
import type { AcquireAnswer } from './replies.js';

/** A subscription that receives grants. It begins when the server confirms it. */
export interface Subscription {
  /** When it was confirmed, by the clock of the connection. */
  readonly since: number;
  /**
   * Reports that a reply of the server has shown the subscription to be dead. It is replaced, unless that has happened
   * already.
   */
  doubt(why: string): void;
}

/** A subscription that stands, and whose subscribers the server does not see. So its replies tell nothing about it. */
export const UNSEEN: Subscription = { since: Infinity, doubt: () => undefined };

/** The shortest and the longest time in ms for which a subscription stands that was replaced because of a doubt. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;
/** After how many ms without a doubt the pause starts from its shortest value again. */
const CALM = 60_000;

/**
 * Decides when to replace a subscription that is in doubt: at once, unless the previous one was replaced shortly
 * before. If subscribing again does not help, it is tried less and less often: for example, behind a proxy that
 * separates commands and subscriptions, or while a slot moves.
 */
export class Doubts {
  private last = -Infinity;
  private pause = FIRST_PAUSE;
  private timer: unknown;

  constructor(private readonly clock = readingClock) {}

  /** Whether a doubt has been raised and the subscription is not replaced yet. */
  get isPending(): boolean {
    return this.timer !== undefined;
  }

  /** Calls `leave` once, now or after a pause. */
  raise(leave: () => void): void {
    if (this.isPending) return;
    const now = this.clock.now();
    const due = this.last + this.pause;
    if (now >= due) return this.act(leave);
    this.timer = this.clock.setTimer(due - now, () => this.act(leave));
  }

  /** Forgets the doubt, because the subscription has ended by itself. */
  drop(): void {
    this.clock.clearTimer(this.timer);
    this.timer = undefined;
  }

  private act(leave: () => void): void {
    this.drop();
    const now = this.clock.now();
    this.pause = now - this.last > CALM ? FIRST_PAUSE : Math.min(2 * this.pause, LONGEST_PAUSE);
    this.last = now;
    leave();
  }
}

/** For how many ms after a reply an earlier message may still arrive. They come on different connections. */
const ON_ITS_WAY = 500;
/** For how many ms after a message its subscription needs no look. */
const RECENTLY = 500;
/** At least so many messages are remembered, to compare them with later replies. */
const REMEMBERED = 500;
/** For at least so many ms they are remembered. A busy client receives thousands in a second. */
const REMEMBERED_FOR = 2 * ON_ITS_WAY;

/**
 * Detects from the server's replies that a client does not receive its messages. A subscription may be dead although no
 * end has closed it, or lead to another server than the commands do. The replies show that before a heartbeat does, and
 * even if heartbeats are answered.
 */
export class SubscriptionEvidence {
  /** The latest acquisitions whose grants a message has announced. */
  private told = new Set<string>();
  /** The acquisitions before those. */
  private toldBefore = new Set<string>();
  /** Since when `told` is filled. */
  private toldSince = 0;
  /** The key of the last grant that a message has announced. */
  private lastKey: string | undefined;
  /** When that message arrived. */
  private lastAt = -Infinity;

  constructor(private readonly clock = readingClock) {}

  /** A message has announced the grant of an acquisition. */
  heard(id: string, key: string): void {
    this.lastKey = key;
    this.lastAt = this.clock.now();
    this.told.add(id);
    if (this.told.size < REMEMBERED || this.lastAt - this.toldSince < REMEMBERED_FOR) return;
    this.toldBefore = this.told;
    this.told = new Set();
    this.toldSince = this.lastAt;
  }

  /**
   * What a request for a key tells the server, as `lua/shared/request.lua` reads it. 0: it would not receive its grant, so it gets
   * no place in the queue. 1: it would. 2: a grant of this key has just arrived, so the server need not look for a subscriber.
   */
  presence(key: string, subscription: Subscription | undefined): 0 | 1 | 2 {
    if (subscription === undefined) return 0;
    const hasJustHeard = key === this.lastKey && this.lastAt >= subscription.since;
    return hasJustHeard && this.clock.now() - this.lastAt < RECENTLY ? 2 : 1;
  }

  /** Judges the subscription that stood when a request was sent by the reply to that request. */
  weigh(
    { sign, reply }: Pick<AcquireAnswer, 'sign' | 'reply'>,
    { id, lease }: Pick<AcquireRequest, 'id' | 'lease'>,
    sent: number,
    subscription: Subscription | undefined,
  ): void {
    if (sign === undefined || subscription === undefined) return;
    if (sign === 'unheard') return subscription.doubt('the server sees no subscriber on the channel of this client');
    // A grant that is older than this subscription may have been sent to the one before.
    const grantedAt = sent - (lease - (reply.outcome === 'held' ? reply.lease : 0));
    if (subscription.since > grantedAt || this.hasHeard(id)) return;
    const judge = (): void => {
      if (!this.hasHeard(id)) subscription.doubt('the message about a granted lock did not arrive');
    };
    // Messages that have arrived by then are read first.
    this.clock.setTimer(ON_ITS_WAY, judge);
  }

  private hasHeard(id: string): boolean {
    return this.told.has(id) || this.toldBefore.has(id);
  }
}

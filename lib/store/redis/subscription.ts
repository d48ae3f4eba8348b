import { readingClock } from '../../common/reading-timer.js';
import type { AcquireRequest } from '../lock-store.js';
import type { AcquireAnswer } from './replies.js';

/** A subscription that receives grants. It begins when the server confirms it. */
export interface Subscription {
  /** When it was confirmed, by the clock of the connection. */
  readonly since: number;
  /** When its latest message arrived. */
  heardAt: number;
  /**
   * Reports that a reply of the server has shown the subscription to be dead. It is replaced, unless that has happened
   * already.
   */
  doubt(why: string): void;
}

/** A subscription that stands, and whose subscribers the server does not see. So its replies tell nothing about it. */
export const UNSEEN: Subscription = { since: Infinity, heardAt: -Infinity, doubt: () => undefined };

/** For how many ms after a reply an earlier message may still arrive. They come on different connections. */
const ON_ITS_WAY = 500;
/** A grant may be older than its lease says by up to so many ms: the server's clock has whole ones. */
const ROUNDING = 1;

/**
 * Judges the subscription that stood when a request was sent by the reply to that request. A subscription may be dead although
 * no end has closed it, or lead to another server than the commands do. A reply may show that before a heartbeat does, and even
 * if heartbeats are answered.
 */
export function weigh(
  { sign, reply }: Pick<AcquireAnswer, 'sign' | 'reply'>,
  { lease }: Pick<AcquireRequest, 'lease'>,
  sent: number,
  subscription: Subscription | undefined,
  clock = readingClock,
): void {
  if (sign === undefined || subscription === undefined) return;
  if (sign === 'unheard') return subscription.doubt('the server sees no subscriber on the channel of this client');
  const grantedAt = sent - (lease - (reply.outcome === 'held' ? reply.lease : 0)) - ROUNDING;
  // An older grant may have been sent to the subscription before this one. Messages arrive in the order in which they were
  // sent, so any later one shows that the subscription works.
  const hasWorked = (): boolean => Math.max(subscription.since, subscription.heardAt) > grantedAt;
  if (hasWorked()) return;
  // Messages that have arrived by then are read first.
  clock.setTimer(ON_ITS_WAY, () => {
    if (!hasWorked()) subscription.doubt('the message about a granted lock did not arrive');
  });
}

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

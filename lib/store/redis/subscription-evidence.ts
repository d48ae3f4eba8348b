import { readingClock } from '../../common/reading-timer.js';
import type { Subscription } from './subscription.js';

/** For how many ms after a reply an earlier message may still arrive. They come on different connections. */
const ON_ITS_WAY = 500;
/** For how many ms after a message its subscription needs no look. */
const RECENTLY = 500;
/** At least so many messages are remembered, to compare them with later replies. */
const REMEMBERED = 500;
/** For at least so many ms they are remembered. A busy client receives thousands in a second. */
const REMEMBERED_FOR = 2 * ON_ITS_WAY;

/**
 * What a reply shows about the client's subscription. `unheard`: the request is queued, but the server sees no
 * subscriber on the client's channel. `found`: the request holds the lock, and a message has announced that before.
 */
export type SubscriptionSign = 'unheard' | 'found';

/** A request, and the subscription on which its grant would have arrived. */
export interface Question {
  readonly id: string;
  /** ms */
  readonly lease: number;
  /** When the request was sent. */
  readonly sent: number;
  /** The subscription that stood then. */
  readonly subscription: Subscription;
}

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

  /** Whether a grant of this key has just arrived on this subscription, so that the server need not look for it. */
  hasJustHeard(key: string, { since }: Subscription): boolean {
    return key === this.lastKey && this.lastAt >= since && this.clock.now() - this.lastAt < RECENTLY;
  }

  /** `leaseLeft`: what is left of the lease of a `found` hold, in ms. */
  weigh(sign: SubscriptionSign, { id, lease, sent, subscription }: Question, leaseLeft = 0): void {
    if (sign === 'unheard') {
      subscription.doubt('the server sees no subscriber on the channel of this client');
      return;
    }
    // A grant that is older than this subscription may have been sent to the one before.
    const grantedAt = sent - (lease - leaseLeft);
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

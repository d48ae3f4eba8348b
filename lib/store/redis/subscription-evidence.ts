import { setReadingTimer } from '../../common/reading-timer.js';
import type { Subscription } from './subscription.js';

/** For how many ms after a reply an earlier message may still arrive. They come on different connections. */
const ON_ITS_WAY = 500;
/** How many messages are remembered, to compare them with later replies. */
const MOST_REMEMBERED = 1_000;

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
  /** When the request was sent, by `performance.now()`. */
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
  /** Acquisitions whose grants a message has announced. The latest is last. */
  private readonly told = new Set<string>();

  /** A message has announced the grant of an acquisition. */
  heard(id: string): void {
    this.told.add(id);
    if (this.told.size <= MOST_REMEMBERED) return;
    for (const oldest of this.told) {
      this.told.delete(oldest);
      break;
    }
  }

  /** `leaseLeft`: what is left of the lease of a `found` hold, in ms. */
  weigh(sign: SubscriptionSign, { id, lease, sent, subscription }: Question, leaseLeft = 0): void {
    if (sign === 'unheard') {
      subscription.doubt('the server sees no subscriber on the channel of this client');
      return;
    }
    // A grant that is older than this subscription may have been sent to the one before.
    const grantedAt = sent - (lease - leaseLeft);
    if (subscription.since > grantedAt || this.told.has(id)) return;
    const judge = (): void => {
      if (!this.told.has(id)) subscription.doubt('the message about a granted lock did not arrive');
    };
    // Messages that have arrived by then are read first.
    setReadingTimer(ON_ITS_WAY, judge);
  }
}

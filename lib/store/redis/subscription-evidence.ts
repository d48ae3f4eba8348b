import { setReadingTimer } from '../../common/reading-timer.js';
import type { Subscription } from './subscription.js';

/** For how many ms after an answer the message may come that was sent before it: they take different ways. */
const ON_ITS_WAY = 500;
/** How many messages are remembered, to be found again by the answer to a question that was asked about then. */
const MOST_REMEMBERED = 1_000;

/**
 * What an answer may say of whether its client hears. `unheard`: it has a place, and the server knows of nobody who listens
 * on its channel. `found`: it has the lock, and has been told so by a message before.
 */
export type SubscriptionSign = 'unheard' | 'found';

/** A question, and where the answer would have been heard if it had come as a message. */
export interface Question {
  readonly id: string;
  /** ms */
  readonly lease: number;
  /** When it was sent, by `performance.now()`. */
  readonly sent: number;
  /** The one that stood then. */
  readonly subscription: Subscription;
}

/**
 * Concludes from what the server answers that a client is deaf. A subscription may be dead without anybody having closed it,
 * or lead to a server that is not the one for commands; the answers show it before a heartbeat would, and where that is
 * answered well.
 */
export class SubscriptionEvidence {
  /** Acquisitions of which a message has said that they are granted, the last one last. */
  private readonly told = new Set<string>();

  /** A message has said that an acquisition is granted. */
  heard(id: string): void {
    this.told.add(id);
    if (this.told.size <= MOST_REMEMBERED) return;
    for (const oldest of this.told) {
      this.told.delete(oldest);
      break;
    }
  }

  /** `leaseLeft`: of what was found, in ms. */
  weigh(sign: SubscriptionSign, { id, lease, sent, subscription }: Question, leaseLeft = 0): void {
    if (sign === 'unheard') {
      subscription.doubt('the server does not see that this client is subscribed to it');
      return;
    }
    // What was granted before it was confirmed may have been told to the one before.
    const grantedAt = sent - (lease - leaseLeft);
    if (subscription.since > grantedAt || this.told.has(id)) return;
    const judge = (): void => {
      if (!this.told.has(id)) subscription.doubt('a message that a lock was granted did not come');
    };
    // What has arrived by then is read first.
    setReadingTimer(ON_ITS_WAY, judge);
  }
}

import type { Clock } from '../common/clock.js';
import type { LatchCount } from '../store/latch-store.js';

/**
 * For how many ms a latch that was seen closed is remembered. The store remembers for at least ten minutes that a latch has
 * opened: a latch that it does not know any more must be forgotten here first.
 */
const RETENTION = 540_000;
/** The latches of so many keys are remembered. */
const MOST = 10_000;

interface Seen {
  readonly latch: string;
  /** When the request was sent that found it closed. */
  readonly at: number;
}

/**
 * The latest latch of each key that a call of this client has seen closed. With it, a caller that asks again and again gets
 * the same result as a caller that stays: a latch that is gone has not opened, unless the store knows that it has.
 */
export class SeenLatches {
  private readonly latches = new Map<string, Seen>();

  constructor(private readonly clock: Clock) {}

  /** The name of the latch of `key` that was seen closed. */
  of(key: string): string | undefined {
    const seen = this.latches.get(key);
    return seen === undefined || this.isOver(seen) ? undefined : seen.latch;
  }

  /** Whether `latch`, which a request named as seen closed, is gone without having opened. */
  isLost(key: string, latch: string | undefined, reply: LatchCount): boolean {
    return latch !== undefined && latch !== reply.latch && !reply.opened.includes(latch) && this.of(key) === latch;
  }

  /** The reply to a request of `sent`. */
  replied(key: string, { latch, opened }: LatchCount, sent: number): void {
    for (const name of opened) this.opened(key, name);
    if (latch !== '') this.closed(key, latch, sent);
  }

  /** A latch was closed after `sent`. */
  closed(key: string, latch: string, at: number): void {
    if (at < (this.latches.get(key)?.at ?? -Infinity)) return;
    this.latches.delete(key);
    this.latches.set(key, { latch, at });
    for (const [oldest, seen] of this.latches) {
      if (this.latches.size <= MOST && !this.isOver(seen)) break;
      this.latches.delete(oldest);
    }
  }

  opened(key: string, latch: string): void {
    if (this.latches.get(key)?.latch === latch) this.latches.delete(key);
  }

  private isOver({ at }: Seen): boolean {
    return this.clock.now() - at >= RETENTION;
  }
}

import type { EngineContext } from './engine-context.js';
import type { Hold, HoldTerms } from './hold.js';

/** How often, and until when, a client may hand the lock to its own waiters under the grant that stands. */
export class LocalBatch {
  private left = 0;
  private until = 0;

  constructor(private readonly context: EngineContext) {}

  /** A grant for `size` waiters begins. */
  begin(size: number, now: number): void {
    this.left = size - 1;
    this.until = now + this.context.limits.batch.time;
  }

  /** The next release goes to the store: another client waits, or the lock is released by force. */
  end(): void {
    this.left = 0;
  }

  /** The next waiter has got the lock. */
  count(): void {
    this.left -= 1;
  }

  /** Whether a hold that is being released may go to the next waiter without a command. */
  allows(hold: Hold, next: HoldTerms): boolean {
    const { clock, store, limits } = this.context;
    if (this.left <= 0 || clock.now() >= this.until || hold.ownerIsKnown) return false;
    // Without a connection, or after a reconnect, the store cannot tell this client to yield, nor of a release by force.
    if (!store.listening || hold.epoch !== store.epoch) return false;
    return mayShareGrant(hold.terms) && mayShareGrant(next) && hold.lastsFor(next, limits.grantTimeout);
  }
}

/** Whether a request may share a grant. The store does `replicas` and `holdAtLeast` at each grant or release. */
export const mayShareGrant = ({ replicas, holdAtLeast }: HoldTerms): boolean =>
  replicas === undefined && holdAtLeast === 0;

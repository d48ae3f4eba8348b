import { nameOf, type ObservedHold } from './observed-hold.js';
import type { BrokenAssumptions } from './broken-assumptions.js';
import { Violation } from './violation.js';

/** Fencing tokens rise in every circumstance. */
export class Tokens {
  /** The largest token that any caller has received, by key. */
  private readonly largest = new Map<string, number>();
  private readonly lastExclusive = new Map<string, number>();

  constructor(private readonly assumptions: BrokenAssumptions) {}

  /** The largest token granted so far: a caller that asks now gets a larger one. */
  floor(key: string): number {
    return this.largest.get(key) ?? 0;
  }

  tell(observed: ObservedHold, floor: number): void {
    const { key, token, terms } = observed.hold;
    // A hold that was released by force may serve the next member of its batch until its client is notified.
    if (this.assumptions.explain(observed)) return;
    const falls = this.falls(observed, floor, 'it was requested after that token was granted');
    this.largest.set(key, falls ? token : Math.max(token, this.floor(key)));
    // A caller that names an owner may share the lock with other holds of that owner.
    if (terms.mode.kind !== 'exclusive' || terms.owner !== undefined) return;
    this.falls(observed, this.lastExclusive.get(key) ?? 0, 'an exclusive holder had that token before');
    this.lastExclusive.set(key, token);
  }

  /** Whether the token of a hold is smaller than an earlier one, in cases where that is allowed. */
  falls(observed: ObservedHold, last: number, what: string): boolean {
    const { key, token } = observed.hold;
    if (token > last) return false;
    if (this.assumptions.mayFall(key, token, last)) return true;
    throw new Violation('tokens', `${nameOf(observed)} has '${key}' after token ${last}: ${what}`);
  }
}

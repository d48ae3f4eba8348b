import { nameOf, type Belief } from './belief.js';
import type { Excuses } from './excuses.js';
import { Violation } from './violation.js';

/** Fencing tokens rise in every circumstance. */
export class Tokens {
  /** The largest token that any caller has received, by key. */
  private readonly told = new Map<string, number>();
  private readonly lastExclusive = new Map<string, number>();

  constructor(private readonly excuses: Excuses) {}

  /** The largest token granted so far: a caller that asks now gets a larger one. */
  floor(key: string): number {
    return this.told.get(key) ?? 0;
  }

  tell(belief: Belief, floor: number): void {
    const { key, token, terms } = belief.hold;
    // A hold that was released by force may still be passed on in turn until its client is notified.
    if (this.excuses.excuse(belief)) return;
    const falls = this.falls(belief, floor, 'asked after that one was told');
    this.told.set(key, falls ? token : Math.max(token, this.floor(key)));
    // A caller that names an owner may share the lock with other holds of that owner.
    if (terms.mode.kind !== 'exclusive' || terms.owner !== undefined) return;
    this.falls(belief, this.lastExclusive.get(key) ?? 0, 'has it alone behind that one');
    this.lastExclusive.set(key, token);
  }

  /** Whether the token of a belief is smaller than an earlier one, in cases where that is allowed. */
  falls(belief: Belief, last: number, what: string): boolean {
    const { key, token } = belief.hold;
    if (token > last) return false;
    if (this.excuses.mayFall(key, token, last)) return true;
    throw new Violation('tokens', `${nameOf(belief)} has '${key}' after token ${last}: ${what}`);
  }
}

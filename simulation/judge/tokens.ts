import { nameOf, type Belief } from './belief.js';
import type { Excuses } from './excuses.js';
import { Violation } from './violation.js';

/** Fencing tokens rise, whatever happens. */
export class Tokens {
  /** The largest that was told to anybody, by key. */
  private readonly told = new Map<string, number>();
  private readonly lastExclusive = new Map<string, number>();

  constructor(private readonly excuses: Excuses) {}

  /** The largest token told so far: who asks now is given a larger one. */
  floor(key: string): number {
    return this.told.get(key) ?? 0;
  }

  tell(belief: Belief, floor: number): void {
    const { key, token, terms } = belief.hold;
    // What was released by force may go on in turn until its client hears of that.
    if (this.excuses.excuse(belief)) return;
    const falls = this.falls(belief, floor, 'asked after that one was told');
    this.told.set(key, falls ? token : Math.max(token, this.floor(key)));
    // Who names an owner may be in beside others of that name.
    if (terms.mode.kind !== 'exclusive' || terms.owner !== undefined) return;
    this.falls(belief, this.lastExclusive.get(key) ?? 0, 'has it alone behind that one');
    this.lastExclusive.set(key, token);
  }

  /** Whether the token of a belief is smaller than an earlier one, where that may be. */
  falls(belief: Belief, last: number, what: string): boolean {
    const { key, token } = belief.hold;
    if (token > last) return false;
    if (this.excuses.mayFall(key, token, last)) return true;
    throw new Violation('tokens', `${nameOf(belief)} has '${key}' after token ${last}: ${what}`);
  }
}

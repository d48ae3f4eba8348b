import { nameOf, type Belief } from './belief.js';
import { Violation } from './violation.js';

/** Fencing tokens rise, whatever happens. */
export class Tokens {
  /** The largest that was told to anybody, by key. */
  private readonly told = new Map<string, number>();
  private readonly lastExclusive = new Map<string, number>();

  /** The largest token told so far: who asks now is given a larger one. */
  floor(key: string): number {
    return this.told.get(key) ?? 0;
  }

  tell(belief: Belief, floor: number, isExcused: boolean): void {
    const { key, token, terms } = belief.hold;
    // What was released by force may go on in turn until its client hears of that.
    if (isExcused) return;
    if (token <= floor) throw new Violation('tokens', `${nameOf(belief)} asked for '${key}' after ${floor} was told`);
    this.told.set(key, Math.max(token, this.floor(key)));
    // Who names an owner may be in beside others of that name.
    if (terms.mode.kind !== 'exclusive' || terms.owner !== undefined) return;
    const last = this.lastExclusive.get(key) ?? 0;
    if (token <= last) throw new Violation('tokens', `${nameOf(belief)} has '${key}' alone after ${last}`);
    this.lastExclusive.set(key, token);
  }
}

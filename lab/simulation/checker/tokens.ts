import { excludes } from '../../checker/terms.mjs';
import type { HoldMode } from '../../../lib/store/lock-store.js';
import { nameOf, type ObservedHold } from './observed-hold.js';
import type { BrokenAssumptions } from './broken-assumptions.js';
import { Violation } from './violation.js';

type Kind = HoldMode['kind'];

/**
 * Fencing tokens rise in every circumstance, between holds that exclude each other. Readers that share a hold in the store
 * have the same token.
 */
export class Tokens {
  /** The largest token that any caller has received, by key and kind of hold. */
  private readonly largest = new Map<string, Map<Kind, number>>();
  private readonly lastExclusive = new Map<string, number>();

  constructor(private readonly assumptions: BrokenAssumptions) {}

  /** The largest token granted so far to a hold that excludes one of this kind: a caller that asks now gets a larger one. */
  floor(key: string, kind: Kind = 'exclusive'): number {
    const excluded = [...(this.largest.get(key) ?? [])].filter(([other]) => excludes(kind, other));
    return Math.max(0, ...excluded.map(([, token]) => token));
  }

  tell(observed: ObservedHold, floor: number): void {
    const { key, token, terms } = observed.hold;
    // A hold that was released by force may serve the next member of its batch until its client is notified.
    if (this.assumptions.explain(observed)) return;
    const falls = this.falls(observed, floor, 'it was requested after that token was granted');
    const largest = falls ? new Map<Kind, number>() : (this.largest.get(key) ?? new Map<Kind, number>());
    const { kind } = terms.mode;
    this.largest.set(key, largest.set(kind, Math.max(token, largest.get(kind) ?? 0)));
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

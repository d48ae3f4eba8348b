import { PERMITS } from '../schedule/schedule.js';
import { conflicts, isValid, nameOf, type ObservedHold } from './observed-hold.js';
import type { BrokenAssumptions } from './broken-assumptions.js';
import { Violation } from './violation.js';

/** The rules for any two observed holds of a key, and for each of them and the server. */
export class Exclusion {
  /** Callers that were granted a key and have not released it. */
  readonly observedHolds = new Map<string, Set<ObservedHold>>();
  private readonly mostPermits = new Map<string, number>();
  /** Keys that are kept after an exclusive holder released them, and until when. */
  private readonly kept = new Map<string, { readonly since: number; readonly until: number }>();

  constructor(private readonly assumptions: BrokenAssumptions) {}

  of(key: string): Set<ObservedHold> {
    let all = this.observedHolds.get(key);
    if (all === undefined) this.observedHolds.set(key, (all = new Set()));
    return all;
  }

  /** A new number of permits has been requested; permits that were already held stay held. */
  permitsSet(key: string, permits: number): void {
    this.mostPermits.set(key, Math.max(permits, this.mostPermits.get(key) ?? PERMITS));
  }

  keeps(key: string, since: number, until: number): void {
    if (until > (this.kept.get(key)?.until ?? 0)) this.kept.set(key, { since, until });
  }

  /** A caller was granted a key. */
  begins(observed: ObservedHold): void {
    const { key, acquiredAt } = observed.hold;
    const all = this.of(key);
    for (const other of all) this.compare(other, observed);
    all.add(observed);
    this.countPermits(all, observed);
    const kept = this.kept.get(key);
    if (kept === undefined || this.assumptions.since(kept.since, key)) return;
    const early = kept.until - observed.process.clock.worldTime(acquiredAt);
    if (early > 0) throw new Violation('holdAtLeast', `${nameOf(observed)} has '${key}' ${early} ms too early`);
  }

  ends(observed: ObservedHold): void {
    this.of(observed.hold.key).delete(observed);
  }

  /** Drops the holds of a process that has ended. */
  forget(died: (observed: ObservedHold) => boolean): void {
    for (const all of this.observedHolds.values()) for (const observed of all) if (died(observed)) all.delete(observed);
  }

  private compare(old: ObservedHold, observed: ObservedHold): void {
    if (!conflicts(old, observed) && !isLaterTurn(observed)) return;
    if (this.assumptions.explain(old, observed)) return;
    const { key } = observed.hold;
    if (isValid(old)) throw new Violation('exclusion', `${nameOf(old)} and ${nameOf(observed)} both hold '${key}'`);
    const { machine } = old.process;
    if (machine.dead || machine.isStalled || machine.isResuming || old.hold.state !== 'held') return;
    throw new Violation('signal', `${nameOf(observed)} has '${key}', but ${nameOf(old)} was not notified of the loss`);
  }

  private countPermits(all: ReadonlySet<ObservedHold>, observed: ObservedHold): void {
    const { key } = observed.hold;
    const most = this.mostPermits.get(key) ?? PERMITS;
    let used = 0;
    for (const each of all) {
      const { mode } = each.hold.terms;
      if (mode.kind === 'permits' && isValid(each) && !this.assumptions.explain(each)) used += mode.units;
    }
    if (used > most) throw new Violation('permits', `${used} of ${most} permits of '${key}' are held`);
  }
}

/** Whether a hold serves a further member of an exclusive batch: another caller, which shares the lock with no hold. */
const isLaterTurn = ({ hold: { terms, token, grant } }: ObservedHold): boolean =>
  terms.mode.kind === 'exclusive' && token !== grant.firstToken;

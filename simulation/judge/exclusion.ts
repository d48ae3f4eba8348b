import { PERMITS } from '../schedule/schedule.js';
import { conflicts, isBelieved, nameOf, type Belief } from './belief.js';
import type { Excuses } from './excuses.js';
import { Violation } from './violation.js';

/** The rules that any two beliefs in one key must meet together, and each of them together with the server. */
export class Exclusion {
  /** Callers that were granted a key and have not released it. */
  readonly beliefs = new Map<string, Set<Belief>>();
  private readonly mostPermits = new Map<string, number>();
  /** Keys that are kept after an exclusive holder released them, and until when. */
  private readonly kept = new Map<string, { readonly since: number; readonly until: number }>();

  constructor(private readonly excuses: Excuses) {}

  of(key: string): Set<Belief> {
    let all = this.beliefs.get(key);
    if (all === undefined) this.beliefs.set(key, (all = new Set()));
    return all;
  }

  /** A new number of permits has been requested; permits that were already held stay held. */
  permitsSet(key: string, permits: number): void {
    this.mostPermits.set(key, Math.max(permits, this.mostPermits.get(key) ?? PERMITS));
  }

  keeps(key: string, since: number, until: number): void {
    if (until > (this.kept.get(key)?.until ?? 0)) this.kept.set(key, { since, until });
  }

  /** A caller begins to believe that it holds a key. */
  begins(belief: Belief): void {
    const { key, acquiredAt } = belief.hold;
    const all = this.of(key);
    for (const other of all) this.compare(other, belief);
    all.add(belief);
    this.countPermits(all, belief);
    const kept = this.kept.get(key);
    if (kept === undefined || this.excuses.since(kept.since, key)) return;
    const early = kept.until - belief.process.clock.worldTime(acquiredAt);
    if (early > 0) throw new Violation('holdAtLeast', `${nameOf(belief)} has '${key}' ${early} ms too early`);
  }

  ends(belief: Belief): void {
    this.of(belief.hold.key).delete(belief);
  }

  /** A dead process holds no beliefs. */
  forget(died: (belief: Belief) => boolean): void {
    for (const all of this.beliefs.values()) for (const belief of all) if (died(belief)) all.delete(belief);
  }

  private compare(old: Belief, belief: Belief): void {
    if (!conflicts(old, belief) || this.excuses.excuse(old, belief)) return;
    const { key } = belief.hold;
    if (isBelieved(old)) throw new Violation('exclusion', `${nameOf(old)} and ${nameOf(belief)} both hold '${key}'`);
    const { machine } = old.process;
    if (machine.dead || machine.isStalled || machine.isResuming || old.hold.state !== 'held') return;
    throw new Violation('signal', `${nameOf(belief)} has '${key}', but ${nameOf(old)} was not notified of the loss`);
  }

  private countPermits(all: ReadonlySet<Belief>, belief: Belief): void {
    const { key } = belief.hold;
    const most = this.mostPermits.get(key) ?? PERMITS;
    let used = 0;
    for (const each of all) {
      const { mode } = each.hold.terms;
      if (mode.kind === 'permits' && isBelieved(each) && !this.excuses.excuse(each)) used += mode.units;
    }
    if (used > most) throw new Violation('permits', `${used} of ${most} permits of '${key}' are held`);
  }
}

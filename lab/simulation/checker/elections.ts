import type { LockLostError } from '../../../lib/errors/index.js';
import type { LeaderElection } from '../../../lib/service/objects/leader-election.js';
import type { Candidacy } from '../schedule/schedule.js';
import { isValid, nameOf, type ObservedHold } from './observed-hold.js';
import type { BrokenAssumptions } from './broken-assumptions.js';
import type { Tokens } from './tokens.js';
import { Violation } from './violation.js';

/** ms that are lost to rounding where a time-out is measured by another clock of its process. */
const ROUNDING = 1;

/** One term of one candidate. */
export interface Term {
  readonly observed: ObservedHold;
  readonly election: LeaderElection;
  readonly candidacy: Candidacy;
  /** How many of its listeners are still running. */
  unfinished: number;
  /** Its leader has resigned or stopped, and `onDeposed` is running. */
  isLeaving: boolean;
  /** When the term ended, by the clock of its process. */
  ended: number | undefined;
}

/** The guarantees for every candidate of an election. */
export class ElectionRules {
  /** The latest term of each candidate. */
  private readonly latest = new Map<LeaderElection, Term>();
  /** The largest token of a leader. */
  private lastToken = 0;

  constructor(
    private readonly assumptions: BrokenAssumptions,
    private readonly tokens: Tokens,
    private readonly isCalm: boolean,
  ) {}

  /** `onElected` is being called. */
  elected(term: Term, signal: AbortSignal): void {
    const { observed, election, candidacy } = term;
    const { hold, process } = observed;
    if (!election.isLeader || signal.aborted)
      throw new Violation('leaders', `${nameOf(observed)} is elected but does not lead`);
    const last = this.latest.get(election);
    this.latest.set(election, term);
    if (last !== undefined) {
      if (last.ended === undefined)
        throw new Violation('terms', `${nameOf(observed)} is elected again within its term`);
      const ms = process.clock.says - last.ended;
      if (last.unfinished > 0 && ms < candidacy.finishTimeout - ROUNDING)
        throw new Violation('terms', `${nameOf(observed)} is elected ${ms} ms after a term that is still at work`);
    }
    for (const other of this.latest.values()) if (other !== term) this.compare(other, term);
    this.handedOver(term);
    if (this.assumptions.explain(observed)) return;
    this.tokens.falls(observed, this.lastToken, 'both are those of leaders');
    this.lastToken = hold.token;
  }

  /** `onDeposed` is being called. */
  deposed(term: Term, error: LockLostError | undefined): void {
    const { observed, election } = term;
    if (election.isLeader || election.signal !== undefined) {
      throw new Violation('leaders', `${nameOf(observed)} is deposed but still leads`);
    }
    if (term.ended !== undefined) throw new Violation('terms', `${nameOf(observed)} is deposed twice`);
    term.ended = observed.process.clock.says;
    term.isLeaving = error === undefined;
    if (this.isCalm && error !== undefined)
      throw new Violation('unexpected', `deposed although no fault happened: ${error.message}`);
  }

  /** `stop()` has resolved. */
  stopped(election: LeaderElection): void {
    const term = this.latest.get(election);
    this.latest.delete(election);
    if (election.isLeader || (term !== undefined && term.ended === undefined)) {
      throw new Violation('leaders', 'a candidate that has stopped leads');
    }
  }

  /** Drops the terms of a process that has ended. */
  forget(died: (observed: ObservedHold) => boolean): void {
    for (const [election, { observed }] of this.latest) if (died(observed)) this.latest.delete(election);
  }

  /** The lock is kept until the `onDeposed` of a leader that has resigned or stopped is over, unless it is lost. */
  private handedOver(term: Term): void {
    for (const { observed, isLeaving } of this.latest.values()) {
      if (isLeaving && observed.hold.state === 'released' && !observed.process.machine.dead)
        throw new Violation('terms', `${nameOf(term.observed)} leads while ${nameOf(observed)} is being deposed`);
    }
  }

  private compare(old: Term, term: Term): void {
    if (old.ended !== undefined || this.assumptions.explain(old.observed, term.observed)) return;
    const { machine } = old.observed.process;
    if (machine.dead) return;
    // A process that does not run is not asked: asking would make it notice the end of its term.
    const leads = isValid(old.observed) || (!machine.isStalled && old.election.isLeader);
    if (leads) throw new Violation('leaders', `${nameOf(old.observed)} and ${nameOf(term.observed)} lead`);
    if (machine.isStalled || machine.isResuming) return;
    throw new Violation('leaders', `${nameOf(term.observed)} leads, and ${nameOf(old.observed)} was not deposed`);
  }
}

import { isLockStoreError, type LockLostError } from '../../../lib/errors/index.js';
import { DefaultLeaderElection } from '../../../lib/service/objects/default-leader-election.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import type { ObservedHold } from '../checker/observed-hold.js';
import type { Term } from '../checker/elections.js';
import { Violation } from '../checker/violation.js';
import { ELECTION, KEYS, type Candidacy } from '../schedule/schedule.js';
import { PLAIN, type Caller } from './caller.js';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const KEY = KEYS[ELECTION];

/**
 * One caller that stands for election and does its work for as long as the work takes: it does not check whether its
 * term is over.
 */
export class Candidate {
  private readonly election: DefaultLeaderElection;
  private readonly observedHolds = new Map<LockHandle, ObservedHold>();
  private term: Term | undefined;

  constructor(
    private readonly caller: Caller,
    private readonly candidacy: Candidacy,
  ) {
    const { context, clock, elections } = caller.process;
    this.election = new DefaultLeaderElection(
      {
        context: { ...context, clock, logger: SILENT },
        elections,
        acquire: (_, { signal }) => this.acquire(signal!),
      },
      KEY,
      {
        onElected: (handle, signal) => this.elected(handle, signal),
        onDeposed: (error) => this.deposed(error),
        finishTimeout: candidacy.finishTimeout,
      },
    );
  }

  async go(): Promise<void> {
    const { process } = this.caller;
    this.election.start();
    await process.sleep(this.candidacy.stands);
    await this.election.stop();
    const { checker } = this.caller.run;
    checker.check(() => checker.elections.stopped(this.election));
    for (const observed of this.observedHolds.values()) checker.ends(observed);
  }

  private async acquire(signal: AbortSignal): Promise<LockHandle> {
    const { checker } = this.caller.run;
    try {
      const { handles, observedHolds } = await this.caller.take([KEY], PLAIN, Infinity, signal);
      this.observedHolds.set(handles[0]!, observedHolds[0]!);
      return handles[0]!;
    } catch (error) {
      if (isLockStoreError(error) && checker.isCalm)
        checker.found(new Violation('unexpected', `although no fault happened: ${error.message}`));
      throw error;
    }
  }

  private async elected(handle: LockHandle, signal: AbortSignal): Promise<void> {
    const { candidacy, election, caller } = this;
    const { process, run } = caller;
    const { checker, outcomes, trace } = run;
    const observed = this.observedHolds.get(handle)!;
    trace(() => `${process.name} is elected with token ${handle.fencingToken}`);
    outcomes.terms += 1;
    const term: Term = { observed, election, candidacy, unfinished: 1, isLeaving: false, ended: undefined };
    this.term = term;
    checker.check(() => checker.elections.elected(term, signal));
    if (candidacy.resignsAfter !== undefined) {
      process.callersClock.setTimer(candidacy.resignsAfter, () => {
        if (this.term === term) void election.resign();
      });
    }
    await process.sleep(candidacy.work);
    term.unfinished -= 1;
    trace(() => `${process.name} has done the work of its term`);
  }

  private async deposed(error: LockLostError | undefined): Promise<void> {
    const { process, run } = this.caller;
    const { checker, trace } = run;
    const term = this.term!;
    trace(() => `${process.name} is deposed${error === undefined ? '' : `: ${error.message}`}`);
    checker.check(() => checker.elections.deposed(term, error));
    term.unfinished += 1;
    await process.sleep(this.candidacy.farewell);
    term.unfinished -= 1;
    term.isLeaving = false;
  }
}

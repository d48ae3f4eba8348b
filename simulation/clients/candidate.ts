import type { HoldTerms } from '../../lib/engine/hold.js';
import { isLockStoreError, type LockLostError } from '../../lib/errors/index.js';
import { DefaultLeaderElection } from '../../lib/service/objects/default-leader-election.js';
import type { LockHandle } from '../../lib/service/handles/lock-handle.js';
import type { Belief } from '../judge/belief.js';
import type { Term } from '../judge/elections.js';
import { Violation } from '../judge/violation.js';
import { ELECTION, KEYS, TIMES, type Candidacy } from '../schedule/schedule.js';
import type { Visitor } from './visitor.js';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const KEY = KEYS[ELECTION];
const TERMS: Omit<HoldTerms, 'key'> = {
  ...{ mode: { kind: 'exclusive' }, lease: TIMES.lease, renews: true, maxRenewTimes: 0 },
  ...{ pattern: undefined, fair: false, owner: undefined, holdAtLeast: 0, replicas: undefined },
};

/**
 * One caller that stands for election and does its work for as long as the work takes: it does not check whether its
 * term is over.
 */
export class Candidate {
  private readonly election: DefaultLeaderElection;
  private readonly beliefs = new Map<LockHandle, Belief>();
  private term: Term | undefined;

  constructor(
    private readonly visitor: Visitor,
    private readonly candidacy: Candidacy,
  ) {
    const { context, clock, elections } = visitor.process;
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
    const { process } = this.visitor;
    this.election.start();
    await process.sleep(this.candidacy.stands);
    await this.election.stop();
    const { judge } = this.visitor.surroundings;
    judge.check(() => judge.elections.stopped(this.election));
    for (const belief of this.beliefs.values()) judge.ends(belief);
  }

  private async acquire(signal: AbortSignal): Promise<LockHandle> {
    const { judge } = this.visitor.surroundings;
    try {
      const { handles, beliefs } = await this.visitor.take([KEY], TERMS, Infinity, signal);
      this.beliefs.set(handles[0]!, beliefs[0]!);
      return handles[0]!;
    } catch (error) {
      if (isLockStoreError(error) && judge.isCalm)
        judge.found(new Violation('unexpected', `in calm weather: ${error.message}`));
      throw error;
    }
  }

  private async elected(handle: LockHandle, signal: AbortSignal): Promise<void> {
    const { candidacy, election, visitor } = this;
    const { process, surroundings } = visitor;
    const { judge, outcomes, trace } = surroundings;
    const belief = this.beliefs.get(handle)!;
    trace(() => `${process.name} is elected with token ${handle.fencingToken}`);
    outcomes.terms += 1;
    const term: Term = { belief, election, candidacy, unfinished: 1, isLeaving: false, ended: undefined };
    this.term = term;
    judge.check(() => judge.elections.elected(term, signal));
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
    const { process, surroundings } = this.visitor;
    const { judge, trace } = surroundings;
    const term = this.term!;
    trace(() => `${process.name} is deposed${error === undefined ? '' : `: ${error.message}`}`);
    judge.check(() => judge.elections.deposed(term, error));
    term.unfinished += 1;
    await process.sleep(this.candidacy.farewell);
    term.unfinished -= 1;
    term.isLeaving = false;
  }
}

import type { RunParts } from '../run-parts.js';
import { CALLERS, type Visit } from '../schedule/schedule.js';
import type { Process } from '../world/process.js';
import { act } from './acts.js';
import { Caller, isInTurn, type Held } from './caller.js';
import { Candidate } from './candidate.js';
import { adopt } from './handovers.js';

/**
 * The callers of one process: each makes its visits one after the other, in the life of the process that it has
 * reached.
 */
export class Workload {
  private readonly lanes: Visit[][];
  private busy = 0;
  private process: Process | undefined;

  constructor(
    visits: readonly Visit[],
    private readonly run: RunParts,
  ) {
    this.lanes = Array.from({ length: CALLERS }, (_, caller) => visits.filter((visit) => visit.caller === caller));
  }

  /** No visit is under way, and none is to come. */
  get isDone(): boolean {
    return this.busy === 0 && this.lanes.every((lane) => lane.length === 0);
  }

  /** Lets the callers continue with their remaining visits, in a new life of their process. */
  start(process: Process): void {
    // Visits that were under way in a life that crashed never return.
    if (this.process?.isAlive === false) this.run.outcomes.crashed += this.busy;
    this.busy = 0;
    this.process = process;
    for (const lane of this.lanes) {
      this.busy += 1;
      this.work(lane, process).then(
        () => {
          // After a shutdown, callers of the previous life may still release their locks.
          if (this.process === process) this.busy -= 1;
        },
        (error: unknown) => this.run.checker.found(error as Error),
      );
    }
  }

  private async work(lane: Visit[], process: Process): Promise<void> {
    for (let visit = lane.shift(); visit !== undefined; visit = lane.shift()) {
      await makeVisit(new Caller(process, visit, this.run));
      if (process.closing) return;
    }
  }
}

/** The way of a caller through one section. Rejects with any error that must not happen. */
async function makeVisit(caller: Caller): Promise<void> {
  const { process, visit, run } = caller;
  await process.sleep(visit.pause);
  if (process.closing) return;
  run.outcomes.visits += 1;
  const letter = run.letters.take(process);
  if (letter !== undefined) await adopt(caller, letter);
  if (process.closing) return;
  if (visit.candidacy !== undefined) return new Candidate(caller, visit.candidacy).go();
  let held: Held;
  try {
    held = await caller.take(caller.keys, caller.terms(), visit.waitTimeout);
  } catch (error) {
    return caller.refused(error);
  }
  run.outcomes.held += 1;
  if (held.handles.length === 1 && isInTurn(held.observedHolds[0]!.hold)) run.outcomes.inTurn += 1;
  await process.sleep(visit.section / 2);
  await act(caller, held);
  await process.sleep(visit.section / 2);
  if (visit.act !== 'abandon') await caller.releaseAll(held);
}

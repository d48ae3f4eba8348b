import { CALLERS, type Visit } from '../schedule/schedule.js';
import type { Process } from '../world/process.js';
import { Caller, type CallerSurroundings } from './caller.js';
import { makeVisit } from './visit.js';

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
    private readonly surroundings: CallerSurroundings,
    /** A caller received or did something that the rules forbid. */
    private readonly failed: (error: unknown) => void,
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
    if (this.process?.isAlive === false) this.surroundings.outcomes.crashed += this.busy;
    this.busy = 0;
    this.process = process;
    for (const lane of this.lanes) {
      this.busy += 1;
      this.work(lane, process).then(
        () => {
          // After a shutdown, callers of the previous life may still release their locks.
          if (this.process === process) this.busy -= 1;
        },
        (error: unknown) => this.failed(error),
      );
    }
  }

  private async work(lane: Visit[], process: Process): Promise<void> {
    for (let visit = lane.shift(); visit !== undefined; visit = lane.shift()) {
      await makeVisit(new Caller(process, visit, this.surroundings));
      if (process.closing) return;
    }
  }
}

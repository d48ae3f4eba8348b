import { Violation } from '../checker/violation.js';

/** Something that happens at a time; given to `World.cancel`. */
export interface Happening {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/**
 * The time of a run, and all planned events in it: events at the same time run in the order in which they were planned.
 * The only clock there is; nothing happens outside a step.
 */
export class World {
  now = 1_000;
  /** How many things have happened. */
  steps = 0;
  /** The same for the same run: a digest of the events and their times. */
  digest = 0;
  /** The next one is the last: most that is added happens soon. */
  private readonly planned: Happening[] = [];
  private order = 0;

  /** Has `run` called at a time, or as soon as may be where that is over. */
  at(at: number, run: () => void): Happening {
    if (Number.isNaN(at)) throw new Violation('unexpected', 'an event has no time');
    const happening: Happening = { at: Math.max(at, this.now), order: this.order++, run };
    let [place, end] = [0, this.planned.length];
    while (place < end) {
      const middle = (place + end) >> 1;
      if (happening.at < this.planned[middle]!.at) place = middle + 1;
      else end = middle;
    }
    this.planned.splice(place, 0, happening);
    return happening;
  }

  cancel(happening: Happening): void {
    happening.run = undefined;
  }

  /** Lets the next thing happen; `false`: there is none. */
  step(): boolean {
    let next = this.planned.pop();
    while (next !== undefined && next.run === undefined) next = this.planned.pop();
    if (next?.run === undefined) return false;
    this.now = next.at;
    this.steps += 1;
    this.digest = Math.imul(this.digest ^ Math.round(next.at * 1_000) ^ next.order, 0x01000193);
    next.run();
    return true;
  }
}

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
  private readonly heap: Happening[] = [];
  private order = 0;

  /** Has `run` called at a time, or as soon as may be where that is over. */
  at(at: number, run: () => void): Happening {
    if (Number.isNaN(at)) throw new Violation('unexpected', 'an event has no time');
    const happening: Happening = { at: Math.max(at, this.now), order: this.order++, run };
    this.insert(happening);
    return happening;
  }

  cancel(happening: Happening): void {
    happening.run = undefined;
  }

  /** Lets the next thing happen; `false`: there is none. */
  step(): boolean {
    for (;;) {
      const next = this.takeFirst();
      if (next === undefined) return false;
      if (next.run === undefined) continue;
      this.now = next.at;
      this.steps += 1;
      this.digest = Math.imul(this.digest ^ Math.round(next.at * 1_000) ^ next.order, 0x01000193);
      next.run();
      return true;
    }
  }

  private insert(item: Happening): void {
    const { heap } = this;
    let place = heap.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (before(heap[parent]!, item)) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = item;
  }

  private takeFirst(): Happening | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
      if (before(last, heap[child]!)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

const before = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

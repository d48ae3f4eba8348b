import { setTimeout as sleep } from 'node:timers/promises';

/** A holder looks at its lock this often, and writes down what it sees a good deal more seldom. */
const LOOK = 4;
const NOTE = 40;

/**
 * What a holder believes. A belief has no gaps: where two looks said yes it was yes all the time in between. Each note
 * also has until when the holder would believe by its clock if it did nothing any more; so it is known, too, what one
 * that is killed or stopped right after has believed.
 */
export class Belief {
  #op;
  #handle;
  /** Asked for once: to ask for it anew could be what makes it abort. */
  #signal;
  #history;
  #now;
  /** The last look that said yes, and whether it has been written down. */
  #last;
  #noted = -Infinity;

  isHeld = true;

  constructor({ op, handle, history, now }) {
    this.#op = op;
    this.#handle = handle;
    this.#signal = handle.signal;
    this.#history = history;
    this.#now = now;
    // First, so that a loss is known by its time, too.
    const lost = () => this.#lost();
    if (this.#signal.aborted) lost();
    else this.#signal.addEventListener('abort', lost, { once: true });
    this.#look();
  }

  async lookUntil(length) {
    const end = this.#now() + length;
    while (this.isHeld && this.#now() < end) {
      await sleep(Math.min(LOOK, Math.max(0, end - this.#now())));
      this.#look();
    }
  }

  /** The last look, right before it is given back. */
  end() {
    if (this.isHeld) this.#look();
    this.#noteLast();
    this.#history.note('release', { op: this.#op });
    this.isHeld = false;
  }

  #look() {
    // Before it looks: what it sees is true from here on at the earliest, and held once is held all the time before.
    const at = this.#now();
    const held = this.#handle.isHeld;
    const until = at + this.#handle.remainingTime();
    if (held) {
      if (!this.isHeld) return this.#history.note('look', { op: this.#op, at, held, until });
      this.#last = { at, until };
      if (at - this.#noted >= NOTE) this.#noteLast();
    } else {
      this.#noteLast();
      this.isHeld = false;
      this.#history.note('look', { op: this.#op, at, held, aborted: this.#signal.aborted });
    }
  }

  #noteLast() {
    if (this.#last === undefined || this.#last.at <= this.#noted) return;
    this.#noted = this.#last.at;
    this.#history.note('look', { op: this.#op, held: true, ...this.#last });
  }

  #lost() {
    const at = this.#now();
    this.#noteLast();
    this.#history.note('lost', { op: this.#op, at });
  }
}

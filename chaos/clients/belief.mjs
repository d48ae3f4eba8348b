import { setTimeout as sleep } from 'node:timers/promises';

/** A holder checks its lock this often, and writes down the result much more seldom. */
const LOOK = 4;
const NOTE = 40;

/**
 * The belief of a holder. A belief has no gaps: if two looks said yes, it was yes all the time in between. Each note
 * also has the time until which the holder would believe by its clock if it did nothing any more; so the belief of a
 * holder that is killed or stopped right after is known, too.
 */
export class Belief {
  #op;
  #handle;
  /** Requested once: a second request could be the cause of its abort. */
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

  /** The last look, right before the release. */
  end() {
    if (this.isHeld) this.#look();
    this.#noteLast();
    this.#history.note('release', { op: this.#op });
    this.isHeld = false;
  }

  #look() {
    // The time before the look: its result is true from here on at the earliest, and if it is held, it was held all the
    // time before.
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

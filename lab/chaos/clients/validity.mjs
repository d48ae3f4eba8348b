import { setTimeout as sleep } from 'node:timers/promises';

/** ms between two looks of a holder at its lock, and between two notes of the result. */
const LOOK = 4;
const NOTE = 40;

/**
 * Records when a hold is valid for its holder. The validity has no gaps: if two looks returned `true`, the hold was valid
 * all the time in between. Each note also has the time at which the hold would end by the holder's clock without any
 * further action, so the validity is known even if the holder is killed or stopped right after.
 */
export class ValidityLog {
  #op;
  #handle;
  /** Requested once: a second request could be the cause of its abort. */
  #signal;
  #history;
  #now;
  /** The last look that returned `true`, and whether it has been recorded. */
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
    this.#history.note('lost', { op: this.#op, at, why: this.#signal.reason.message });
  }
}

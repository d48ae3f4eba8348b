import { Violation } from './violation.js';

/** How many calls open a latch. */
export const COUNT = 2;

/** The count-down latch of a run: how many calls may have counted it down, and how often it has certainly opened. */
export class Gates {
  private begun = 0;
  private opened = 0;

  /** A call that counts down is sent. It counts once, or not at all. */
  countsDown(): void {
    this.begun += 1;
  }

  /** A latch that a caller has set is open. */
  opens(): void {
    this.opened += 1;
    if (this.opened * COUNT <= this.begun) return;
    throw new Violation('latches', `latches of ${COUNT} have opened ${this.opened} times after ${this.begun} calls`);
  }
}

import { LatchLostError } from '../../../lib/errors/index.js';
import { Violation } from '../checker/violation.js';
import { TIMES } from '../schedule/schedule.js';
import type { Caller } from './caller.js';

/** The key of the latch, for which no caller acquires a lock. */
const GATE = 'gate';
const COUNT = 2;
/** ms */
const LIFETIME = 10_000;
const PATIENCE = TIMES.lease / 2;

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

/** Sets the latch unless it is closed, counts it down, and waits for it. */
export async function passGate({ process, surroundings: { gates, trace } }: Caller): Promise<void> {
  const { latches } = process.engine;
  if (latches === undefined) return;
  const made = await latches.trySetCount(GATE, COUNT, LIFETIME);
  gates.countsDown();
  const left = await latches.countDown(GATE);
  trace(() => `${process.name} has counted down to ${left}`);
  try {
    const isOpen = await latches.wait(GATE, { waitTimeout: PATIENCE, signal: undefined });
    if (made && isOpen) gates.opens();
  } catch (error) {
    if (!(error instanceof LatchLostError)) throw error;
  }
}

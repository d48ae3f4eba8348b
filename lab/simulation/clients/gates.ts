import { LatchLostError } from '../../../lib/errors/index.js';
import { COUNT } from '../checker/gates.js';
import { TIMES } from '../schedule/schedule.js';
import type { Caller } from './caller.js';

/** The key of the latch, for which no caller acquires a lock. */
const GATE = 'gate';
/** ms */
const LIFETIME = 10_000;
const PATIENCE = TIMES.lease / 2;

/** Sets the latch unless it is closed, counts it down, and waits for it. */
export async function passGate({ process, run: { gates, trace } }: Caller): Promise<void> {
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

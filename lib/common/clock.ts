import { platform, uptime } from 'node:os';
import { ElapsedClock } from './elapsed-clock.js';
import { outside } from './outside.js';
import { readingClock } from './reading-timer.js';

/** The clock of the engine. Tests and simulations bring their own. */
export interface Clock {
  /** ms on a monotonic clock that counts the time for which the machine was suspended. */
  now(): number;
  /**
   * Calls back once, `delay` ms later on this clock, give or take 1 ms. If the time passed while the machine was suspended,
   * the call follows within about a second after the resume. Node reads first what has arrived by then. The timer does not
   * keep the process alive.
   */
  setTimer(delay: number, callback: () => void): unknown;
  clearTimer(timer: unknown): void;
  /** Keeps the process alive for a waiter, until the returned function is called. */
  keepAlive(): () => void;
}

/** In ms: Node fires a timer that is longer than this after 1 ms. Timers of a `Clock` may be longer. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** How many callers keep the process alive, and the timer that does so while there are any. It is never due. */
let callers = 0;
let keeper: NodeJS.Timeout | undefined;
const LONG = 2 ** 30;

function keepAlive(): () => void {
  // One timer for all: a caller that waits sets none of its own.
  keeper ??= outside(() => setInterval(() => undefined, LONG).unref());
  if (callers === 0) keeper.ref();
  callers += 1;
  let over = false;
  return () => {
    if (over) return;
    over = true;
    callers -= 1;
    if (callers === 0) keeper?.unref();
  };
}

// The monotonic clock of Linux does not count suspensions. Those of macOS and Windows do, and `os.uptime()` of macOS comes
// from the wall clock.
const standsStill = ['linux', 'android'].includes(platform());

export const systemClock: Clock = Object.assign(
  new ElapsedClock({
    ...readingClock,
    monotonic: () => performance.now(),
    wall: () => Date.now(),
    uptime: standsStill ? uptime : undefined,
  }),
  { keepAlive },
);

import { platform, uptime } from 'node:os';
import { ElapsedClock } from './elapsed-clock.js';
import { outside } from './outside.js';
import { clearReadingTimer, setReadingTimer, type ReadingTimer } from './reading-timer.js';

/** The time, as the engine sees it; tests and simulations bring their own. */
export interface Clock {
  /** Milliseconds on a clock that nobody sets, and that counts the time for which the machine was suspended. */
  now(): number;
  /**
   * Calls back once, when `delay` milliseconds have gone by on this clock, give or take one. If they went by while the machine
   * was suspended, within about a second after the resume. What has arrived by then is read first. Does not keep the process
   * alive.
   */
  setTimer(delay: number, callback: () => void): unknown;
  clearTimer(timer: unknown): void;
  /** Keeps the process alive, for somebody who waits, until what it answers is called. */
  keepAlive(): () => void;
}

/** How many want the process to stay alive, and the timer that does it. */
let awake = 0;
let keeper: NodeJS.Timeout | undefined;
const LONG = 2 ** 30;

function keepAlive(): () => void {
  awake += 1;
  keeper ??= outside(() => setInterval(() => undefined, LONG));
  let over = false;
  return () => {
    if (over) return;
    over = true;
    awake -= 1;
    if (awake > 0) return;
    clearInterval(keeper);
    keeper = undefined;
  };
}

// The monotonic clock of Linux does not count suspensions. Those of macOS and Windows do, and `os.uptime()` of macOS is
// made of the wall clock.
const standsStill = ['linux', 'android'].includes(platform());

const elapsed = new ElapsedClock({
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  uptime: standsStill ? uptime : undefined,
  setTimer: setReadingTimer,
  clearTimer: (timer) => clearReadingTimer(timer as ReadingTimer | undefined),
});

export const systemClock: Clock = {
  now: () => elapsed.now(),
  setTimer: (delay, callback) => elapsed.setTimer(delay, callback),
  clearTimer: (timer) => elapsed.clearTimer(timer),
  keepAlive,
};

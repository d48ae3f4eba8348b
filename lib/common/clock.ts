import { outside } from './outside.js';

/** The time, as the engine sees it; tests and simulations bring their own. */
export interface Clock {
  /** Milliseconds on a clock that nobody sets. */
  now(): number;
  /** Milliseconds since 1970 on the clock of the wall, which people and NTP do set; it also runs on in a sleeping machine. */
  wall(): number;
  /** Calls back once, at the earliest after `delay` milliseconds. Does not keep the process alive. */
  setTimer(delay: number, callback: () => void): unknown;
  clearTimer(timer: unknown): void;
  /** Keeps the process alive, for somebody who waits, until what it answers is called. */
  stayAwake(): () => void;
}

/** How many want the process to stay alive, and the timer that does it. */
let awake = 0;
let keeper: NodeJS.Timeout | undefined;
const LONG = 2 ** 30;

function stayAwake(): () => void {
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

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  // From outside, so that a timer does not keep the context of whoever set it.
  setTimer: (delay, callback) => outside(() => setTimeout(callback, delay).unref()),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
  stayAwake,
};

import { outside } from './async-context.js';

/** A timer that was set; `clearReadingTimer` takes it. */
export interface ReadingTimer {
  readonly timeout: NodeJS.Timeout;
  immediate: NodeJS.Immediate | undefined;
}

/**
 * Calls back after `delay` ms, once Node has read what has arrived by then. After a stall Node runs its timers before it
 * reads its sockets, so a plain timer would miss answers that are already there. The timer keeps neither the process alive
 * nor the async context of its caller.
 */
export function setReadingTimer(delay: number, callback: () => void): ReadingTimer {
  const due = (): void => {
    timer.immediate = setImmediate(callback);
  };
  const timer: ReadingTimer = { timeout: outside(() => setTimeout(due, delay).unref()), immediate: undefined };
  return timer;
}

/** Resolves after `ms`, once Node has read what has arrived by then. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setReadingTimer(ms, resolve));

/** Whether a promise settles within `ms`. */
export const settlesWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setReadingTimer(ms, () => resolve(false));
    const settled = (): void => {
      clearReadingTimer(timer);
      resolve(true);
    };
    work.then(settled, settled);
  });

/** The time as timers count it. Simulations bring their own. */
export interface ReadingClock {
  /** ms */
  now(): number;
  setTimer(delay: number, callback: () => void): unknown;
  clearTimer(timer: unknown): void;
  /** Whether a timer keeps the process running: none does at first. */
  keepRunning?(timer: unknown, is: boolean): void;
}

export const readingClock: ReadingClock = {
  now: () => performance.now(),
  setTimer: setReadingTimer,
  clearTimer: (timer) => clearReadingTimer(timer as ReadingTimer | undefined),
  keepRunning: (timer, is) => {
    const timeout = (timer as ReadingTimer | undefined)?.timeout;
    if (is) timeout?.ref();
    else timeout?.unref();
  },
};

/** Cancels a timer. */
export function clearReadingTimer(timer: ReadingTimer | undefined): void {
  clearTimeout(timer?.timeout);
  clearImmediate(timer?.immediate);
}

import { outside } from './outside.js';

/** A timer that has been set, for `clearReadingTimer`. */
export interface ReadingTimer {
  readonly timeout: NodeJS.Timeout;
  immediate: NodeJS.Immediate | undefined;
}

/**
 * Calls back after `delay` ms, when Node has read what had arrived by then. After a stall Node runs its timers before it
 * looks at its sockets, so a plain timer would judge without the answers that are there. The timer does not keep the
 * process alive, nor the async context of its caller.
 */
export function setReadingTimer(delay: number, callback: () => void): ReadingTimer {
  const due = (): void => {
    timer.immediate = setImmediate(callback);
  };
  const timer: ReadingTimer = { timeout: outside(() => setTimeout(due, delay).unref()), immediate: undefined };
  return timer;
}

/** Its callback is not called any more. */
export function clearReadingTimer(timer: ReadingTimer | undefined): void {
  clearTimeout(timer?.timeout);
  clearImmediate(timer?.immediate);
}

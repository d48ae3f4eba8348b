import { listenToAbort } from './abort.js';
import type { TimerQueue } from './timer-queue.js';

/** What ends a wait before the work settles. */
export interface WaitLimit {
  /** By the clock of the timer queue. */
  readonly at: number;
  readonly signals?: ReadonlyArray<AbortSignal | undefined>;
  /** Whether the work is a reply of the store: if it has arrived by `at`, it counts. */
  readonly isReply?: boolean;
}

/**
 * Waits until `work` settles, a time is reached or one of the signals aborts, whichever comes first. Resolves to `true` if `work`
 * settled, and never rejects.
 */
export function settledBy(
  timers: TimerQueue,
  { at, signals = [], isReply = false }: WaitLimit,
  work?: Promise<unknown>,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isSettled: boolean): void => {
      timers.cancel(limit);
      for (const stop of stopListening) stop();
      resolve(isSettled);
    };
    const late = (): void => end(false);
    const limit = isReply ? timers.addLimit(at, late) : timers.add(at, late);
    const given = signals.filter((signal) => signal !== undefined);
    const stopListening = given.map((signal) => listenToAbort(signal, late));
    const settled = (): void => end(true);
    work?.then(settled, settled);
    if (given.some(({ aborted }) => aborted)) late();
  });
}

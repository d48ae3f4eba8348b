import { listenToAbort } from './abort.js';
import type { TimerQueue } from './timer-queue.js';

/** What ends a wait before the work settles. */
export interface WaitLimit {
  /** By the clock of the timer queue. */
  readonly at: number;
  readonly signal?: AbortSignal;
  /** Whether the work is a reply of the store: if it has arrived by `at`, it counts. */
  readonly isReply?: boolean;
}

/**
 * Waits until `work` settles, a time is reached or a signal aborts, whichever comes first. Resolves to `true` if `work`
 * settled, and never rejects.
 */
export function settledBy(
  timers: TimerQueue,
  { at, signal, isReply = false }: WaitLimit,
  work?: Promise<unknown>,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isSettled: boolean): void => {
      timers.cancel(limit);
      stopListening?.();
      resolve(isSettled);
    };
    const late = (): void => end(false);
    const limit = isReply ? timers.addLimit(at, late) : timers.add(at, late);
    const stopListening = signal && listenToAbort(signal, () => end(false));
    const settled = (): void => end(true);
    work?.then(settled, settled);
    if (signal?.aborted === true) end(false);
  });
}

/** Whether a value has a `then`, as promises and the queries of some ORMs have. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function';

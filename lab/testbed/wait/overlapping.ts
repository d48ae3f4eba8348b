/** Tasks of which each starts while others still run. */
export interface Overlapping {
  /** Resolves as the task of this index does. Starts it, and the ones behind it. */
  run(index: number): Promise<void>;
  /** Resolves when no task runs any more. */
  settled(): Promise<void>;
}

/**
 * For tests that mostly wait and share no state: a test of its own awaits each task, and so many tasks run at once. At the
 * end, await `settled()`: a runner that skips tests leaves tasks that have started ahead.
 */
export function overlapping(tasks: ReadonlyArray<() => Promise<void>>, atOnce: number): Overlapping {
  const started = new Map<number, Promise<void>>();
  const start = (index: number): Promise<void> => {
    const running = started.get(index) ?? tasks[index]!();
    // Its own test reports a failure, later.
    running.catch(() => undefined);
    started.set(index, running);
    return running;
  };
  return {
    run: (index) => {
      for (let next = index + 1; next < Math.min(index + atOnce, tasks.length); next++) void start(next);
      return start(index);
    },
    settled: async () => {
      await Promise.allSettled(started.values());
    },
  };
}

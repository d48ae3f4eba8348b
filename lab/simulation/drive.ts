/** How many steps one turn of the event loop takes; between two of them promises still settle. */
const STEPS = 64;

/**
 * Calls `step` until it answers `false`, each time when all that promises have to do is done. Node lets promises come to
 * rest after each immediate, and a turn of the event loop with many of them costs as much as one with one.
 */
export function drive(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    const stepOnce = (): void => {
      if (over) return;
      try {
        if (step()) return;
        over = true;
        resolve();
      } catch (error) {
        over = true;
        reject(error);
      }
    };
    const turn = (): void => {
      if (over) return;
      for (let i = 0; i < STEPS; i += 1) setImmediate(stepOnce);
      setImmediate(turn);
    };
    turn();
  });
}

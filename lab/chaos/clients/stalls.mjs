const TICK = 50;
const LATE = 100;

/** Notes each time in which this process did not run, for any reason: it cannot be blamed for being late then. */
export function watchForStalls(history, now) {
  let last = now();
  setInterval(() => {
    const at = now();
    if (at - last > TICK + LATE) history.note('stall', { from: last, to: at });
    last = at;
  }, TICK).unref();
}

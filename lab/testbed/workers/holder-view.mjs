// @ts-check

/**
 * The view that a holder has of its lock, on one line. `assertHeld`: the code of the error that it throws.
 * @param {import('../../../lib/index.js').LockHandle} handle
 */
export const viewOf = (handle) => ({
  isHeld: handle.isHeld,
  assertHeld: thrownBy(() => handle.assertHeld()),
  aborted: handle.signal.aborted,
  remaining: handle.remainingTime(),
});

/** @param {() => void} work */
function thrownBy(work) {
  try {
    work();
    return undefined;
  } catch (error) {
    return Object(error).code ?? String(error);
  }
}

/** Clocks that run at different speeds: part of a lease that nobody relies on. */
const DRIFT = 0.01;
/** Milliseconds lost to rounding, on both sides. */
const ROUNDING = 2;

/**
 * Until when a client may believe in a lease, on its own monotonic clock. `from` is when it *sent* the question: the
 * store counts from a later moment, so the belief ends first. Never from an arrival.
 */
export function validUntil(from: number, lease: number): number {
  return from + lease * (1 - DRIFT) - ROUNDING;
}

/**
 * When something was, on our clock, that the store did so many ms (on its clock) after it had answered a question: not
 * after that, however fast the store's clock runs beside ours.
 */
export function elapsedSince(sent: number, elapsed: number): number {
  return sent + elapsed * (1 - DRIFT);
}

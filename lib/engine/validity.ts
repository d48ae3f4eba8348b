/** Part of a lease that the client does not rely on, since clocks run at different speeds. */
const DRIFT = 0.01;
/** ms that rounding costs, on both sides. */
const ROUNDING = 2;

/**
 * Until when a client may rely on a lease, on its own monotonic clock. `from` is when the client *sent* the question, never
 * when the answer arrived. The store counts the lease from a later moment, so the client's view ends first.
 */
export function validUntil(from: number, lease: number): number {
  return from + lease * (1 - DRIFT) - ROUNDING;
}

/**
 * The time, on the client's clock, of something that the store did `elapsed` ms (on the store's clock) after it answered a
 * question that was sent at `sent`. Never later than the real time, however fast the store's clock runs.
 */
export function elapsedSince(sent: number, elapsed: number): number {
  return sent + elapsed * (1 - DRIFT);
}

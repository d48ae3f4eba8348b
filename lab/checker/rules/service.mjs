import { commandTimeoutOf, laneOf, stalledFor } from '../terms.mjs';

/**
 * ms without a lock of its own after which a client is not served: longer than a failover takes that has to be repeated.
 * And so many `commandTimeout`s: after three a connection is given up on which nothing is answered.
 */
const LONGEST = 12_900;
const UNANSWERED = 3;

/**
 * Every failure is temporary: no client goes without its pulse for long, not counting the time in which it did not run.
 */
export function service({ run, pulse: pulses, stall: stalls }) {
  const longest = LONGEST + UNANSWERED * commandTimeoutOf(run);
  const found = [];
  const served = new Map();
  for (const { client, from, at, ok } of pulses) {
    const since = served.get(client) ?? from;
    served.set(client, ok ? at : since);
    const without = at - since - (at - since > longest ? stalledFor(stalls, laneOf({ client }), since, at) : 0);
    if (without <= longest) continue;
    const message = `${client} could not acquire a lock of its own for ${Math.round(without)} ms`;
    found.push({ rule: 'service', at, since, message, operations: [] });
    // Reported once for such a stretch of time.
    served.set(client, at);
  }
  return found;
}

import { contention } from '../harness/contention.mjs';
import { openSlowNetwork } from '../harness/slow-network.mjs';

const DELAY = 1;

export default contention({
  name: 'slow-network',
  title: 'Slow network, 8 processes × 1 caller',
  processes: 8,
  waiters: 1,
  sectionMs: 5,
  pauseMs: 30,
  about:
    'Sections of 5 ms and pauses of 30 ms, behind a TCP proxy that adds at least 1 ms each way. The gap is the time from ' +
    'the moment in which an unlock is sent, while a caller waits, until the next section begins: in ms, and in round trips ' +
    'of a PING through the proxy.',
  extraColumns: [
    { key: 'gap', title: 'gap p50 ms', digits: 2 },
    { key: 'roundTrips', title: 'gap in round trips', digits: 2 },
  ],

  async open(context) {
    const { target, roundTrip, close } = await openSlowNetwork(context.target, DELAY);
    return { context: { ...context, target, roundTrip }, close };
  },

  more: ({ gap }, { roundTrip }) => ({ roundTrip, roundTrips: gap / roundTrip }),

  notes: (results) =>
    results
      .flatMap(({ medians }) => medians.roundTrip ?? [])
      .slice(0, 1)
      .map((ms) => `A round trip of a PING through the proxy takes ${ms.toFixed(2)} ms here.`),
});

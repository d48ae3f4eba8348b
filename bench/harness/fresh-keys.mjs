import { measure } from './measurement.mjs';
import { Histogram } from './statistics.mjs';

/**
 * The time of each round is cut into this many short turns: neighbouring turns differ by less than a machine does from
 * second to second.
 */
const TURNS = 5;

/**
 * A scenario in which one process acquires and releases uncontended keys, `callers` at a time: each lock by itself, or `held`
 * of them before all are released.
 */
export function freshKeys({ name, title, callers, held, ...rest }) {
  return {
    name,
    title,
    columns: [
      { key: 'throughput', title: 'cycles/s', digits: 0 },
      { key: 'mean', title: 'mean ms', digits: 3 },
      { key: 'p50', title: 'p50 ms', digits: 3 },
      { key: 'p99', title: 'p99 ms', digits: 3 },
      { key: 'commands', title: 'commands per cycle', digits: 2 },
      { key: 'serverCpu', title: 'Redis CPU µs per cycle', digits: 0 },
      { key: 'clientCpu', title: 'client CPU µs per cycle', digits: 0 },
    ],
    charts: ['throughput'],
    // How a library waits does not matter here, so settings for waiting are not measured again.
    includes: ({ isForWaiting }) => !isForWaiting,
    rounds: ({ rounds, isQuick }) => (isQuick ? rounds : TURNS * rounds),
    async measure(context, { library, variant }, { isQuick, ...whole }) {
      const timing = isQuick ? { ...whole, isQuick } : { warmUp: whole.warmUp / TURNS, window: whole.window / TURNS };
      // A new client would be slow for a time: compilers have to begin anew for some functions.
      const measured = await measure(context, {
        ...{ library, variant, keepsClient: true },
        ...{
          loop: held === undefined ? 'cycle' : 'fill',
          terms: { callers, held: isQuick ? held / 20 : held },
          timing,
        },
      });
      const cycles = Histogram.merged(measured.parts.map((part) => part.cycles));
      return {
        throughput: (cycles.count / measured.window) * 1_000,
        mean: cycles.mean,
        p50: cycles.quantile(0.5),
        p99: cycles.quantile(0.99),
        commands: measured.commands / cycles.count,
        serverCpu: (measured.serverCpu / cycles.count) * 1e6,
        clientCpu: (measured.clientCpu / cycles.count) * 1e6,
        waits: cycles,
      };
    },
    ...rest,
  };
}

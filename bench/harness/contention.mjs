import { measure } from './measurement.mjs';
import { Histogram, jain } from './statistics.mjs';

export const CONTENTION_COLUMNS = [
  { key: 'throughput', title: 'sections/s', digits: 0 },
  { key: 'p50', title: 'wait p50 ms', digits: 2 },
  { key: 'p99', title: 'wait p99 ms', digits: 2 },
  { key: 'longest', title: 'longest wait ms', digits: 0 },
  { key: 'jain', title: 'Jain', digits: 3 },
  { key: 'commands', title: 'commands per section', digits: 2 },
  { key: 'serverCpu', title: 'Redis CPU µs per section', digits: 0 },
  { key: 'clientCpu', title: 'client CPU µs per section', digits: 0 },
  { key: 'gaveUp', title: 'gave up per section', digits: 2 },
  { key: 'violations', title: 'violations', digits: 0 },
];

/**
 * A scenario in which `processes × waiters` callers want one key all the time, or each time one of `keys`. With a `mode`
 * (loops.mjs) they share it; it is measured for libraries with this mode, by the name that `modes` has for it.
 */
export function contention({ name, title, extraColumns = [], more, ...scenario }) {
  const { processes, waiters, keys, sectionMs, pauseMs, mode, permits, ...rest } = scenario;
  return {
    name,
    title,
    columns: [...CONTENTION_COLUMNS, ...extraColumns],
    charts: ['throughput', 'waits', 'fairness', 'commands'],
    includes: ({ waits, modes = {}, variant }) =>
      mode === undefined ? waits : (modes[mode]?.variants ?? []).includes(variant),
    ...(mode !== undefined && {
      expand: (variants) => variants.map((variant) => ({ ...variant, label: labelOf(variant, variant.modes[mode]) })),
    }),
    async measure(context, { library, variant }, timing) {
      const terms = { key: 'hot', waiters, keys, sectionMs, pauseMs, mode, permits };
      const measured = await measure(context, { processes, library, variant, loop: 'contend', terms, timing });
      const metrics = contentionMetrics(measured);
      return { ...metrics, ...more?.(metrics, context) };
    },
    ...rest,
  };
}

const labelOf = ({ variant }, { label }) => (variant === 'defaults' ? label : `${label}, ${variant}`);

export function contentionMetrics({ parts, window, violations, commands, serverCalls, serverCpu, clientCpu }) {
  const served = parts.flatMap(({ sections }) => [...sections]);
  const count = served.reduce((sum, n) => sum + n, 0);
  const waits = Histogram.merged(parts.map((part) => part.waits));
  const gaps = Histogram.merged(parts.map((part) => part.gaps));
  return {
    throughput: (count / window) * 1_000,
    p50: waits.quantile(0.5),
    p99: waits.quantile(0.99),
    longest: waits.max,
    jain: jain(served),
    commands: commands / count,
    serverCalls: serverCalls / count,
    serverCpu: (serverCpu / count) * 1e6,
    clientCpu: (clientCpu / count) * 1e6,
    gaveUp: sum(parts, 'gaveUp') / count,
    unserved: sum(parts, 'unserved'),
    violations,
    gap: gaps.quantile(0.5),
    waits,
  };
}

const sum = (parts, key) => parts.reduce((total, part) => total + part[key], 0);

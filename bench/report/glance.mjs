import { format } from './format.mjs';

/** The rows of the table in docs/performance.md. A `variant` is one of this library; the others stand in the row before. */
const ROWS = [
  { scenario: 'sequential', title: 'free keys, one after the other' },
  { scenario: 'concurrent', title: 'free keys, 64 in parallel' },
  { scenario: 'many-keys', title: '10 000 keys at random, 64 callers, sections of 1 ms' },
  { scenario: 'hot-16x1', title: 'one key, 16 processes' },
  { scenario: 'hot-16x1', title: 'the same, release in the background', variant: 'background' },
  { scenario: 'section-5ms', title: 'one key, 16 callers, sections of 5 ms' },
  { scenario: 'section-20ms', title: 'one key, 16 callers, sections of 20 ms' },
  { scenario: 'slow-network', title: 'slow network, 8 processes, sections of 5 ms, pauses of 30 ms' },
  { scenario: 'readers', title: '64 readers, sections of 1 ms' },
  { scenario: 'read-write', title: '60 readers and 4 writers, sections of 1 ms' },
  { scenario: 'permits', title: '8 permits, 64 callers, sections of 1 ms' },
];

const NOT_PEERS = ['ours', 'raw', 'scripts'];

const COLUMNS = {
  'best Node peer': ({ library, world }) => world === undefined && !NOT_PEERS.includes(library),
  Redisson: ({ world }) => world === 'JVM',
  'best for Go': ({ world }) => world === 'Go',
};

/** Whether these results have what the table needs: those of a complete run with all languages. */
export const isForGlance = ({ run, scenarios }) =>
  run.isComplete && ROWS.every(({ scenario }) => scenarios.some(({ name }) => name === scenario));

/** The table at the top of docs/performance.md with the conditions of the run, as Markdown. */
export function glance({ machine, run, scenarios }) {
  const of = Object.fromEntries(scenarios.map(({ name, results }) => [name, results]));
  const { node, redis, cores, cpu, tools = {} } = machine;
  const languages = Object.entries(tools).map(([name, version]) => `, ${name} ${version}`);
  const conditions =
    `Node ${node}, Redis ${redis}${languages.join('')}; ${cores} cores (${cpu}); medians of ${run.rounds} rounds of ` +
    `${format(run.windowMs / 1_000, 1)} s, ${run.date}. A round trip of the slow network takes ${ms(roundTripOf(of))}.`;
  return [
    `| scenario | this library | ${Object.keys(COLUMNS).join(' | ')} |`,
    `|---|${'---|'.repeat(Object.keys(COLUMNS).length + 1)}`,
    ...ROWS.map((row) => line(row, of[row.scenario])),
    '',
    wrapped(conditions),
    ...failures(scenarios),
    '',
  ].join('\n');
}

/** The paragraph of docs/comparison.md on the slow network. `eager`: a retry every millisecond. */
export function slowNetwork({ scenarios }) {
  const { results } = scenarios.find(({ name }) => name === 'slow-network');
  const of = (name, ofVariant = 'defaults') => {
    const { medians } = results.find(({ library, variant }) => library === name && variant === ofVariant);
    return { ...medians, rate: format(medians.throughput, 0), longest: time(medians.longest) };
  };
  const [ours, redlock, semaphore] = [of('ours'), of('redlock'), of('redis-semaphore')];
  const [eagerRedlock, eagerSemaphore] = [of('redlock', 'eager'), of('redis-semaphore', 'eager')];
  return wrapped(
    'In one [benchmark](../bench/results/results.md), eight processes compete for a lock, in sections of 5 ms, with round ' +
      `trips of ${ms(ours.roundTrip)}. With default settings, this library grants the lock ${ours.rate} times per second ` +
      `(longest wait ${ours.longest}), redlock ${redlock.rate} (${redlock.longest}), and redis-semaphore ` +
      `${semaphore.rate} (${semaphore.longest}). With a retry every millisecond, redlock reaches ${eagerRedlock.rate} ` +
      `(${eagerRedlock.longest}), and redis-semaphore ${eagerSemaphore.rate} (${eagerSemaphore.longest}).`,
  );
}

/** Breaks a paragraph into lines of at most 120 characters. */
function wrapped(text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length <= 120) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join('\n');
}

function line({ title, variant = 'defaults' }, results) {
  const measured = results.filter(isMeasured);
  const ours = measured.find((result) => result.library === 'ours' && result.variant === variant);
  const others = Object.values(COLUMNS).map((belongs) =>
    variant === 'defaults' ? fastest(measured.filter(belongs)) : undefined,
  );
  const best = Math.max(...[ours, ...others].map((result) => result?.medians.throughput ?? 0));
  const cells = [ours, ...others].map((result) => cell(result, result?.medians.throughput === best));
  return `| ${[title, ...cells].join(' | ')} |`;
}

/** A library that failed in a round, or let two callers in a section, is not the best of any. */
const isFailed = ({ errors, medians }) => errors.length > 0 || medians.violations > 0;
const isMeasured = (result) => !isFailed(result) && Number.isFinite(result.medians.throughput);

const fastest = (results) => results.toSorted((a, b) => b.medians.throughput - a.medians.throughput)[0];

function cell(result, isBest) {
  if (result === undefined) return '';
  const { throughput, jain, longest } = result.medians;
  const count = isBest ? `**${format(throughput, 0)}**` : format(throughput, 0);
  const fairness = Number.isFinite(jain) ? [` (${format(jain, 2)}, ${format(longest, 0)} ms)`] : [];
  return [count, ...(result.library === 'ours' ? [] : [` ${nameOf(result)}`]), ...fairness].join('');
}

/** Without what the column says. */
const nameOf = ({ label, world }) => label.replace(` (${world})`, '').replace(/^Redisson /, '');

/** A line on the libraries that failed in a scenario, if there are any. */
function failures(scenarios) {
  const failed = new Map();
  for (const { name, results } of scenarios) {
    for (const result of results.filter(isFailed)) {
      const label = result.label.replace(/ \(.*?\)/, '');
      failed.set(label, [...(failed.get(label) ?? []), name]);
    }
  }
  if (failed.size === 0) return [];
  const list = [...failed].map(([label, names]) => `${label} in ${names.join(', ')}`);
  return ['', wrapped(`Hung, failed or let two callers overlap, and therefore left out: ${list.join('; ')}.`)];
}

const roundTripOf = (of) => of['slow-network'].find(isMeasured)?.medians.roundTrip ?? NaN;

const ms = (value) => `${format(value, 1)} ms`;
const time = (value) => (value < 500 ? `${format(value, 0)} ms` : `${format(value / 1_000, 1)} s`);

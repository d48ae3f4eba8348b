import { format } from './format.mjs';
import { ratios } from './ratios.mjs';
import { worldsTable } from './worlds.mjs';

/**
 * The results as Markdown: the machine that was measured on, one table for each scenario, and how each library was
 * configured.
 */
export function toMarkdown({ machine, run, scenarios, variants, charts }) {
  return [
    '# Results',
    '',
    `${run.isComplete ? 'One complete run' : '**Not a complete run**: these figures say whether it works, and nothing else'}; ` +
      `all libraries in turn, medians of ${run.rounds} ${run.rounds === 1 ? 'round' : 'rounds'} of ${run.windowMs} ms each, in ${run.minutes} min. ${run.date}.`,
    '',
    `Node ${machine.node}, Redis ${machine.redis}, ioredis ${machine.ioredis}${languages(machine)}, ${machine.cores} cores (${machine.cpu}), ` +
      `load while it ran ${machine.load.map((load) => load.toFixed(1)).join(' to ')}.`,
    '',
    ...charts.flatMap((name) => [`![${name}](${name}.svg)`, '']),
    ...worldsTable(scenarios),
    ...summary(scenarios),
    ...scenarios.flatMap(section),
    '## How each is configured',
    '',
    '| library | version | settings |',
    '|---|---|---|',
    ...variants.map(({ label, version, about }) => `| ${label} | ${version ?? ''} | ${about} |`),
    '',
  ].join('\n');
}

const languages = ({ tools = {} }) =>
  Object.entries(tools)
    .map(([name, version]) => `, ${name} ${version}`)
    .join('');

function summary(scenarios) {
  const rows = ratios(scenarios);
  if (rows.length === 0) return [];
  return [
    '## nestjs-redis-locks against the others',
    '',
    'Ratios within each round, and of these the median. Peers are the other libraries for Node. Of a peer, whichever of its variants is the best is taken.',
    '',
    '| measure | ratio |',
    '|---|---|',
    ...rows.map(({ measure, value }) => `| ${measure} | ${value} |`),
    '',
  ];
}

function section({ title, about, columns, results, notes = [] }) {
  const used = columns.filter(({ key }) => results.some(({ medians }) => Number.isFinite(medians[key])));
  return [
    `## ${title}`,
    '',
    about,
    '',
    `| library | ${used.map((column) => column.title).join(' | ')} |`,
    `|---|${used.map(() => '--:|').join('')}`,
    ...results.map((result) => `| ${result.label} | ${used.map((column) => cell(result, column)).join(' | ')} |`),
    '',
    ...notes.flatMap((note) => [note, '']),
    ...results.filter(({ errors }) => errors.length > 0).flatMap((result) => [failure(result), '']),
  ];
}

/** What became of a variant that failed, as a sentence. */
function failure({ label, errors, rounds, planned }) {
  const left = planned - errors.length - rounds.length;
  const skipped = left > 0 ? `, and was left out of the other ${left === 1 ? 'round' : `${left} rounds`}` : '';
  const figures =
    rounds.length > 0 ? `Its figures are of ${rounds.length} of ${planned} rounds.` : 'It has no figures.';
  return `**${label} failed ${errors.length === 1 ? 'once' : `${errors.length} times`}**${skipped}. ${figures} The first error: ${errors[0]}.`;
}

function cell({ medians, errors = [], rounds = [] }, { key, digits }) {
  if (rounds.length === 0 && errors.length > 0) return 'failed';
  const value = medians[key];
  return Number.isFinite(value) ? format(value, digits) : '';
}

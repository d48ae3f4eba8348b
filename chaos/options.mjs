import { parseArgs } from 'node:util';
import { StepFailed } from '../scripts/lib/run.mjs';
import { HOLDER_NAMES } from './schedule/operations.mjs';
import { TOPOLOGY_NAMES } from './topologies/index.mjs';

export const USAGE = `npm run chaos -- [options]

  --seed n            decides which faults and operations there are, and when (a random one, which is printed)
  --minutes m         how long faults happen (1)
  --topology t        ${TOPOLOGY_NAMES.join(', ')} (single)
  --kept              only faults that leave the assumptions of the docs alone: nothing can be excused
  --faults a,b        only faults of these kinds
  --holders sort      only callers of one sort: ${HOLDER_NAMES.join(', ')} (of all sorts)
  --default-timeouts  with the time-outs that the library has by default, and leases of 3 s
  --mutations [names]  on the library with one line changed at a time, until there is a violation or --minutes are over
                      (10); then on the library as it is, for as long. Names as in mutations.mjs, in a list with commas
  --check file        no run: judges a history.jsonl that a run has written
  --no-build          with dist/ as it is
  --help
`;

const flag = { type: 'boolean' };
const text = { type: 'string' };
const OPTIONS = {
  seed: text,
  minutes: text,
  topology: text,
  kept: flag,
  check: text,
  faults: text,
  holders: text,
  'default-timeouts': flag,
  mutations: flag,
  'no-build': flag,
  help: flag,
};

/** @throws StepFailed for arguments that cannot be read */
export function readOptions(args) {
  const { mutations, ...values } = parse(args);
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e6) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new StepFailed('--seed takes a whole number from 0');
  const minutes = Number(values.minutes ?? (mutations === undefined ? 1 : 10));
  if (!(minutes > 0)) throw new StepFailed('--minutes takes a number above 0, such as 0.5');
  if (values.holders !== undefined && !HOLDER_NAMES.includes(values.holders))
    throw new StepFailed(`--holders takes ${HOLDER_NAMES.join(' or ')}`);
  const topology = values.topology ?? 'single';
  return {
    ...{ seed, topology, length: minutes * 60_000, onlyKept: values.kept ?? false, mutations },
    ...{ only: values.faults?.split(','), holders: values.holders },
    defaultTimeouts: values['default-timeouts'] ?? false,
    ...{ history: values.check, build: !values['no-build'], help: values.help ?? false },
  };
}

function parse(args) {
  try {
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    const names = positionals.flatMap((text) => text.split(',')).filter((name) => name !== '');
    if (names.length > 0 && !values.mutations) throw new Error(`Unexpected argument '${positionals[0]}'`);
    return { ...values, mutations: values.mutations ? names : undefined };
  } catch (error) {
    throw new StepFailed(`${error.message}\n\n${USAGE}`);
  }
}

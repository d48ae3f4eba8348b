import { readArguments, StepFailed } from '../../scripts/lib/run.mjs';
import { HOLDER_NAMES } from './schedule/operations.mjs';
import { TOPOLOGY_NAMES } from './topologies/index.mjs';

export const USAGE = `npm run chaos -- [options]

  --seed n            determines the faults and operations (default: random; the run prints it)
  --minutes m         duration of the faults (default: 1)
  --topology t        ${TOPOLOGY_NAMES.join(', ')} (default: single)
  --kept              only faults that keep every assumption of the docs
  --faults a,b        only these kinds of fault
  --holders sort      only one kind of caller: ${HOLDER_NAMES.join(', ')} (default: all)
  --both-clients      every other process connects with node-redis, the others with ioredis
  --default-timeouts  the default timeouts of the library, and leases of 3 s
  --recovery          writes the recovery times of the run into recovery.md
  --check file        checks a history.jsonl that an earlier run wrote, without a run
  --no-build          uses dist/ as it is
  --help
`;

const TEXTS = ['seed', 'minutes', 'topology', 'check', 'faults', 'holders'];
const FLAGS = ['kept', 'both-clients', 'default-timeouts', 'recovery', 'no-build'];

/** @throws StepFailed for arguments that cannot be read */
export function readOptions(args) {
  const { values } = readArguments(args, USAGE, { texts: TEXTS, flags: FLAGS });
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e6) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new StepFailed('--seed takes a whole number from 0');
  const minutes = Number(values.minutes ?? 1);
  if (!(minutes > 0)) throw new StepFailed('--minutes takes a number above 0, such as 0.5');
  if (values.holders !== undefined && !HOLDER_NAMES.includes(values.holders))
    throw new StepFailed(`--holders takes ${HOLDER_NAMES.join(' or ')}`);
  const topology = values.topology ?? 'single';
  return {
    ...{ seed, topology, length: minutes * 60_000, onlyKept: values.kept ?? false },
    ...{ only: values.faults?.split(','), holders: values.holders },
    bothClients: values['both-clients'] ?? false,
    defaultTimeouts: values['default-timeouts'] ?? false,
    recovery: values.recovery ?? false,
    ...{ history: values.check, build: !values['no-build'], help: values.help ?? false },
  };
}

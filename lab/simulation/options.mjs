import { availableParallelism } from 'node:os';
import { readArguments, StepFailed } from '../../scripts/lib/run.mjs';

export const USAGE = `npm run simulation -- [options]

  --seeds n           how many schedules to run, those of the seeds 1 to n (20000)
  --from n            the first seed (1)
  --workers n         processes that run them (as many as there are processors, 4 at most)
  --seed n            runs the schedule of one seed, and tells every step
  --path p            with --seed: the smaller schedule that was found to fail, as it was printed
  --mutation name     runs the seeds with one mutation
  --help
`;

const TEXTS = ['seeds', 'from', 'workers', 'seed', 'path', 'mutation'];

/** @throws StepFailed for arguments that cannot be read */
export function readOptions(args) {
  const { values } = readArguments(args, USAGE, { texts: TEXTS });
  return {
    seeds: readCount('seeds', values.seeds ?? '20000'),
    first: readCount('from', values.from ?? '1'),
    workers: readCount('workers', values.workers ?? String(Math.min(4, availableParallelism()))),
    seed: values.seed === undefined ? undefined : readCount('seed', values.seed),
    path: values.path,
    mutation: values.mutation,
    help: values.help ?? false,
  };
}

function readCount(name, written) {
  const count = Number(written);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new StepFailed(`--${name} takes a whole number from 1`);
}

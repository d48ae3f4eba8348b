// Changes one place of the library at a time, and sees which laboratory finds it: npm run mutations -- --help
import { tell } from '../../scripts/lib/counts.mjs';
import { readArguments, runAsScript, StepFailed } from '../../scripts/lib/run.mjs';
import { checkNodeVersion, ensureNodeModules, ensureRedis } from '../../scripts/setup.mjs';
import { OF_CHAOS, OF_SIMULATION, OF_SPECS } from './list.mjs';
import { ResultsPage } from './results-page.mjs';

const USAGE = `npm run mutations -- [options] [names]

  names               of mutations, separated by blanks or commas (all of them)
  --laboratory a,b    simulation, specs, chaos (simulation,specs; with names, all of them)
  --seeds n           how many schedules the simulation runs at most (80000)
  --workers n         processes that run them (2)
  --minutes m         how long a chaos run may last (10)
  --seed n            the first seed of chaos (1)
  --types             only checks with the compiler that the mutations can run
  --help
`;

const TEXTS = ['laboratory', 'seeds', 'workers', 'minutes', 'seed'];

const LISTS = { simulation: OF_SIMULATION, specs: OF_SPECS, chaos: OF_CHAOS };

/**
 * @typedef {object} Result
 * @property {boolean} isFound
 * @property {string} by what has found the mutation, or what has not
 * @property {number} after seconds
 */

async function mutations() {
  const { values, positionals } = readArguments(process.argv.slice(2), USAGE, {
    texts: TEXTS,
    flags: ['types'],
    words: true,
  });
  if (values.help) return console.log(USAGE);
  const chosen = choose(values.laboratory, positionals);
  checkNodeVersion();
  await ensureNodeModules();
  // They need the packages that are installed by now.
  const { TypeCheck } = await import('./types.mjs');
  const types = new TypeCheck();
  const laboratories = values.types ? undefined : await open(values);
  const page = new ResultsPage(LISTS);
  const sum = { passed: 0, failed: 0 };
  for (const { laboratory, mutation } of chosen) {
    const errors = types.errorsOf(mutation);
    const result = errors.length > 0 ? brokenBy(errors) : await laboratories?.[laboratory](mutation);
    if (result === undefined || result.isFound) sum.passed += 1;
    else sum.failed += 1;
    // A long run that is stopped keeps the rows that it has.
    if (result !== undefined) console.log(page.write(laboratory, mutation, result));
  }
  return tell(sum);
}

function choose(laboratory, words) {
  const names = words.flatMap((word) => word.split(',')).filter((name) => name !== '');
  const laboratories = laboratory ?? (names.length === 0 ? 'simulation,specs' : Object.keys(LISTS).join());
  const unknown = laboratories.split(',').find((name) => !Object.hasOwn(LISTS, name));
  if (unknown !== undefined) throw new StepFailed(`--laboratory: there is no ${unknown}\n\n${USAGE}`);
  const all = laboratories
    .split(',')
    .flatMap((laboratory) => LISTS[laboratory].map((mutation) => ({ laboratory, mutation })));
  const missing = names.find((name) => all.every(({ mutation }) => mutation.name !== name));
  if (missing !== undefined) throw new StepFailed(`there is no mutation '${missing}' in ${laboratories}`);
  return names.length === 0 ? all : all.filter(({ mutation }) => names.includes(mutation.name));
}

/** By laboratory: tries one mutation. */
async function open({ seeds = '80000', workers = '2', minutes = '10', seed = '1' }) {
  const { installation } = await ensureRedis();
  const [{ build }, { trySimulation }, { trySpec }, { tryChaos }] = await Promise.all([
    import('../../scripts/build.mjs'),
    import('../simulation/try-mutations.mjs'),
    import('./try-specs.mjs'),
    import('../chaos/try-mutations.mjs'),
  ]);
  // Processes that specs start run the built library.
  await build();
  return {
    simulation: (mutation) => trySimulation(mutation, { seeds: Number(seeds), workers: Number(workers) }),
    specs: (mutation) => trySpec(mutation, { installation }),
    chaos: (mutation) => tryChaos(mutation, { seed: Number(seed), length: minutes * 60_000, installation }),
  };
}

const brokenBy = (errors) => ({ isFound: false, by: `it does not compile: ${errors.join('; ')}`, after: 0 });

await runAsScript(mutations);

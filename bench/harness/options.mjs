import { parseArgs } from 'node:util';
import { StepFailed } from '../../scripts/lib/run.mjs';
import { FOREIGN, LIBRARIES } from '../libraries/index.mjs';
import { EXTRAS, EXTRAS_OF_ALL, SCENARIOS } from '../scenarios/index.mjs';

const ROUNDS = 3;

export const USAGE = `npm run bench -- [options]

  --quick             seconds instead of minutes: says whether all of it runs, and no more
  --all               the complete run: also libraries for the JVM and Go, if Java, Maven and Go are present, and
                      ${EXTRAS_OF_ALL.join(', ')}
  --only a,b          these libraries: ${LIBRARIES.join(', ')};
                      ${FOREIGN.join(', ')}
  --scenario a,b      these scenarios: ${SCENARIOS.join(', ')}
  --memory            1 000 000 cycles, and the heap for each hold and waiter; nothing else
  --growth            more and more waiters, keys, processes; nothing else
  --holders           more and more readers and permits of one key; nothing else
  --neighbour         an unrelated key beside one key with 1 000 readers, or permits, a second; nothing else
  --mixed             processes of this library, with redisson(), and of Redisson on one key; nothing else
  --pairs             two keys for each call, out of few keys; nothing else
  --rounds n          how often each is measured (${ROUNDS}); a complete run has 3 or more
  --no-build          with dist/ as it is
  --help
`;

const ALL = [...LIBRARIES, ...FOREIGN];
const COMPLETE = [...SCENARIOS, ...EXTRAS_OF_ALL];

const TIMINGS = {
  full: { warmUp: 600, window: 2_000, rounds: ROUNDS },
  quick: { warmUp: 150, window: 300, rounds: 1 },
};

/** Reads the options of the command line. Results are kept only for a complete run. */
export function readOptions(args) {
  const { values } = parse(args);
  const quick = values.quick ?? false;
  const timing = { ...TIMINGS[quick ? 'quick' : 'full'], isQuick: quick };
  if (values.rounds !== undefined) timing.rounds = readRounds(values.rounds);
  const extras = Object.keys(EXTRAS).filter((flag) => values[flag]);
  const scenarios =
    extras.length > 0
      ? extras.map((flag) => EXTRAS[flag])
      : choose('scenario', values.scenario, values.all ? COMPLETE : SCENARIOS, EXTRAS);
  const libraries = choose('only', values.only, values.all ? ALL : LIBRARIES, FOREIGN);
  return {
    help: values.help ?? false,
    build: values.build ?? true,
    timing,
    libraries,
    scenarios,
    isComplete: !quick && scenarios.length === COMPLETE.length && libraries.length === ALL.length && timing.rounds >= 3,
  };
}

function parse(args) {
  const flag = { type: 'boolean' };
  const text = { type: 'string' };
  const options = {
    ...{
      all: flag,
      quick: flag,
      memory: flag,
      growth: flag,
      holders: flag,
      neighbour: flag,
      mixed: flag,
      pairs: flag,
      build: flag,
      help: flag,
    },
    ...{ only: text, scenario: text, rounds: text },
  };
  // Node 20 knows no `allowNegative` before 20.17, and says so in another way than later ones.
  const rest = args.filter((arg) => arg !== '--no-build');
  try {
    const { values } = parseArgs({ args: rest, options });
    return { values: { ...values, build: rest.length === args.length } };
  } catch (error) {
    throw new StepFailed(`${error.message}\n\n${USAGE}`);
  }
}

function choose(option, given, all, more = {}) {
  if (given === undefined) return all;
  const names = given.split(',').map((name) => name.trim());
  const known = [...new Set([...all, ...Object.values(more)])];
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new StepFailed(`--${option}: there is no ${unknown.join(', ')}; there are ${known.join(', ')}`);
  }
  return known.filter((name) => names.includes(name));
}

function readRounds(text) {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds > 0) return rounds;
  throw new StepFailed('--rounds takes a whole number from 1');
}

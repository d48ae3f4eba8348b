import { parseArgs } from 'node:util';
import { StepFailed } from '../../scripts/lib/run.mjs';
import { FOREIGN, LIBRARIES } from '../libraries/index.mjs';
import { EXTRAS, SCENARIOS } from '../scenarios/index.mjs';

export const USAGE = `npm run bench -- [options]

  --quick             seconds instead of minutes: says whether all of it runs, and no more
  --all               also libraries for the JVM and Go, if Java, Maven and Go are present
  --only a,b          these libraries: ${LIBRARIES.join(', ')};
                      ${FOREIGN.join(', ')}
  --scenario a,b      these scenarios: ${SCENARIOS.join(', ')}
  --memory            1 000 000 cycles, and the heap for each hold and waiter; nothing else
  --growth            more and more waiters, keys, processes; nothing else
  --holders           more and more readers and permits of one key; nothing else
  --mixed             processes of this library, with redisson(), and of Redisson on one key; nothing else
  --rounds n          how often each is measured (5)
  --no-build          with dist/ as it is
  --help
`;

const ALL = [...LIBRARIES, ...FOREIGN];

const TIMINGS = {
  full: { warmUp: 700, window: 2_500, rounds: 5 },
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
    extras.length > 0 ? extras.map((flag) => EXTRAS[flag]) : choose('scenario', values.scenario, SCENARIOS, EXTRAS);
  const libraries = choose('only', values.only, values.all ? ALL : LIBRARIES, FOREIGN);
  return {
    help: values.help ?? false,
    build: values.build ?? true,
    timing,
    libraries,
    scenarios,
    isComplete:
      !quick && scenarios.length === SCENARIOS.length && libraries.length === ALL.length && timing.rounds >= 3,
  };
}

function parse(args) {
  const flag = { type: 'boolean' };
  const text = { type: 'string' };
  const options = {
    ...{ all: flag, quick: flag, memory: flag, growth: flag, holders: flag, mixed: flag, build: flag, help: flag },
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

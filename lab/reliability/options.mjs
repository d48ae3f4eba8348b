import { parseArgs } from 'node:util';
import { StepFailed } from '../../scripts/lib/run.mjs';
import { SCENARIOS } from './scenarios.mjs';

export const USAGE = `npm run reliability -- [options]

  --rounds n          how often each fault happens (5)
  --topology a,b      on these only: ${names('topology').join(', ')}
  --fault a,b         these faults only: ${names('fault').join(', ')}
  --report            measures nothing: makes results.md from the results that are there
  --no-build          with dist/ as it is
  --help
`;

/** Reads the options of the command line. */
export function readOptions(args) {
  const text = { type: 'string' };
  const flag = { type: 'boolean' };
  const options = { rounds: text, topology: text, fault: text, report: flag, help: flag, 'no-build': flag };
  const { values } = parse(args, options);
  const [topologies, faults] = ['topology', 'fault'].map((name) => choose(name, values[name]));
  const rounds = Number(values.rounds ?? 5);
  if (!Number.isInteger(rounds) || rounds < 1) throw new StepFailed('--rounds takes a whole number from 1');
  return {
    help: values.help ?? false,
    build: !values['no-build'],
    onlyReport: values.report ?? false,
    rounds,
    scenarios: SCENARIOS.filter(({ topology, fault }) => topologies.includes(topology) && faults.includes(fault)),
    /** Whether its outcome may stand in the results. */
    isComplete: rounds >= 3,
  };
}

function parse(args, options) {
  try {
    return parseArgs({ args, options });
  } catch (error) {
    throw new StepFailed(`${error.message}\n\n${USAGE}`);
  }
}

function choose(option, given) {
  const known = names(option);
  if (given === undefined) return known;
  const chosen = given.split(',').map((name) => name.trim());
  const unknown = chosen.filter((name) => !known.includes(name));
  if (unknown.length === 0) return chosen;
  throw new StepFailed(`--${option}: there is no ${unknown.join(', ')}; there are ${known.join(', ')}`);
}

function names(property) {
  return [...new Set(SCENARIOS.map((scenario) => scenario[property]))];
}

import { StepFailed } from '../scripts/lib/run.mjs';
import { check } from './checker/check.mjs';
import { LIBRARY_VARIABLE } from './clients/mutation.mjs';
import { runChaos } from './harness/run.mjs';
import { buildMutant } from './mutant.mjs';
import { MUTATIONS } from './mutations.mjs';

/** A run is checked when it is over, so the time is spent in runs of so many ms, each with the next seed. */
const ROUND = 20_000;

/**
 * Runs chaos on the library with one line changed at a time, until there is a violation or `length` ms of faults are
 * over; then the same run on the library as it is, which must have no violation. Returns the number of mutations for
 * which one of the two failed.
 */
export async function tryMutations(names, { seed, length, installation, say }) {
  const unknown = names.find((name) => MUTATIONS.every((mutation) => mutation.name !== name));
  if (unknown !== undefined) throw new StepFailed(`--mutations: there is no ${unknown}; ${known()}`);
  const chosen = names.length === 0 ? MUTATIONS : MUTATIONS.filter(({ name }) => names.includes(name));
  const rows = [];
  let failures = 0;
  for (const mutation of chosen) {
    const terms = { seed, length, installation };
    const result = await tryOne(mutation, terms);
    const unchanged = result.isFound ? await violationsUnchanged(mutation, result.seed, terms) : undefined;
    rows.push(`| ${mutation.name} | ${mutation.topology} | ${result.seed} | ${result.text} | ${unchanged ?? ''} |`);
    say(rows.at(-1));
    failures += unchanged === 0 ? 0 : 1;
  }
  say(['', '| mutation | topology | seed | found after | unchanged |', '|---|---|---|---|---|', ...rows].join('\n'));
  return failures;
}

const known = () => `there are ${MUTATIONS.map(({ name }) => name).join(', ')}`;

/** Runs with one seed after the other, until one of them finds something. */
async function tryOne(mutation, { seed: first, length, installation }) {
  for (let spent = 0, seed = first; ; spent += ROUND, seed += 1) {
    const round = Math.min(ROUND, length - spent);
    if (round <= 0)
      return { isFound: false, seed: `${first} to ${seed - 1}`, text: `not within ${length / 60_000} min` };
    const violations = await runWith(mutation, mutation, { seed, installation, length: round });
    if (violations.length === 0) continue;
    const [{ at }] = violations;
    const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
    return { isFound: true, seed, text: `${Math.round((spent + at) / 1_000)} s: ${violations.length} of ${rules}` };
  }
}

const violationsUnchanged = async (mutation, seed, { length, installation }) =>
  (await runWith(undefined, mutation, { seed, installation, length: Math.min(ROUND, length) })).length;

/** One run as a mutation wants it, on a library with a mutation in it, or without one. */
async function runWith(mutation, { topology, kept = false, only, holders, defaultTimeouts }, options) {
  const mutant = await buildMutant(mutation);
  process.env[LIBRARY_VARIABLE] = mutant.url;
  try {
    const events = await runChaos({ topology, onlyKept: kept, only, holders, defaultTimeouts, ...options });
    const loaded = events.filter(({ type }) => type === 'up').map((up) => up.mutation);
    if (loaded.length === 0 || loaded.some((name) => name !== mutation?.name))
      throw new Error(`not all clients ran '${mutation?.name ?? 'the library as it is'}': ${loaded.join(', ')}`);
    return check(events).violations;
  } finally {
    delete process.env[LIBRARY_VARIABLE];
    mutant.remove();
  }
}

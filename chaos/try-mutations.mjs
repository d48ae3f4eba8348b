import { StepFailed } from '../scripts/lib/run.mjs';
import { check } from './checker/check.mjs';
import { LIBRARY_VARIABLE } from './clients/library.mjs';
import { runChaos } from './harness/run.mjs';
import { buildMutant } from './mutant.mjs';
import { MUTATIONS } from './mutations.mjs';

/** A run is checked when it is over, so the time is spent in runs of so many ms, each with the next seed. */
const ROUND = 60_000;

/**
 * Runs chaos on the library with one line changed at a time, until there is a violation or `length` ms of faults are
 * over. Answers of how many nothing was found.
 */
export async function tryMutations(names, { seed, length, installation, say }) {
  const unknown = names.find((name) => MUTATIONS.every((mutation) => mutation.name !== name));
  if (unknown !== undefined) throw new StepFailed(`--mutations: there is no ${unknown}; ${known()}`);
  const chosen = names.length === 0 ? MUTATIONS : MUTATIONS.filter(({ name }) => names.includes(name));
  const rows = [];
  let survivors = 0;
  for (const mutation of chosen) {
    const result = await tryOne(mutation, { seed, length, installation });
    rows.push(`| ${mutation.name} | ${mutation.topology} | ${result.seed} | ${result.text} |`);
    say(rows.at(-1));
    survivors += result.isFound ? 0 : 1;
  }
  say(['', '| mutation | topology | seed | found after |', '|---|---|---|---|', ...rows].join('\n'));
  return survivors;
}

const known = () => `there are ${MUTATIONS.map(({ name }) => name).join(', ')}`;

async function tryOne({ topology, kept = false, only, ...mutation }, { seed: first, length, installation }) {
  const mutant = await buildMutant(mutation);
  process.env[LIBRARY_VARIABLE] = mutant.url;
  try {
    for (let spent = 0, seed = first; ; spent += ROUND, seed += 1) {
      const round = Math.min(ROUND, length - spent);
      if (round <= 0)
        return { isFound: false, seed: `${first} to ${seed - 1}`, text: `not within ${length / 60_000} min` };
      const { violations } = check(
        await runChaos({ topology, seed, installation, length: round, onlyKept: kept, only }),
      );
      if (violations.length === 0) continue;
      const [{ at }] = violations;
      const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
      return { isFound: true, seed, text: `${Math.round((spent + at) / 1_000)} s: ${violations.length} of ${rules}` };
    }
  } finally {
    delete process.env[LIBRARY_VARIABLE];
    mutant.remove();
  }
}

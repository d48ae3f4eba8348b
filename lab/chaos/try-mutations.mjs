import { check } from '../checker/check.mjs';
import { MUTATION_VARIABLE } from '../mutations/list.mjs';
import { runChaos } from './harness/run.mjs';
import { loadTopology } from './topologies/index.mjs';

/** A run is checked when it is over, so the time is spent in runs of so many ms, each with the next seed. */
const ROUND = 20_000;

/**
 * Runs chaos on the library with a mutation in it, until there is a violation or `length` ms of faults are over; then
 * the same run on the library as it is, which must have no violation.
 * @param {import('../mutations/list.mjs').ChaosMutation} mutation
 * @returns {Promise<import('../mutations/run.mjs').Result>}
 */
export async function tryChaos(mutation, terms) {
  const { isFound, seed, after, text } = await tryOne(mutation, terms);
  if (!isFound) return { isFound, by: `seeds ${seed}, ${text}`, after: terms.length / 1_000 };
  const unchanged = await violationsUnchanged(mutation, seed, terms);
  const by = `${mutation.topology}, seed ${seed}: ${text}${unchanged === 0 ? '' : `, and ${unchanged} without it`}`;
  return { isFound: unchanged === 0, by, after };
}

/** Runs with one seed after the other, until one of them finds something. */
async function tryOne(mutation, { seed: first, length, installation }) {
  const { prepare } = await loadTopology(mutation.topology);
  await prepare?.();
  for (let spent = 0, seed = first; ; spent += ROUND, seed += 1) {
    const round = Math.min(ROUND, length - spent);
    if (round <= 0)
      return { isFound: false, seed: `${first} to ${seed - 1}`, text: `not within ${length / 60_000} min` };
    const violations = await runWith(mutation, mutation, { seed, installation, length: round });
    if (violations.length === 0) continue;
    const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
    const after = (spent + violations[0].at) / 1_000;
    return { isFound: true, seed, after, text: `${violations.length} of ${rules}` };
  }
}

const violationsUnchanged = async (mutation, seed, { length, installation }) =>
  (await runWith(undefined, mutation, { seed, installation, length: Math.min(ROUND, length) })).length;

/** One run as a mutation wants it, on a library with a mutation in it, or without one. */
async function runWith(mutation, { topology, only }, options) {
  process.env[MUTATION_VARIABLE] = mutation?.name ?? '';
  try {
    const events = await runChaos({ topology, only, ...options });
    const loaded = events
      .filter(({ type, library }) => type === 'up' && library === undefined)
      .map((up) => up.mutation);
    if (loaded.length === 0 || loaded.some((name) => name !== mutation?.name))
      throw new Error(`not all clients ran '${mutation?.name ?? 'the library as it is'}': ${loaded.join(', ')}`);
    return check(events).violations;
  } finally {
    delete process.env[MUTATION_VARIABLE];
  }
}

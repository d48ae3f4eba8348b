import { runSeeds } from './pool.mjs';

/**
 * Runs seeds on the library with a mutation in it until one fails.
 * @param {import('../mutations/mutate.mjs').Mutation} mutation
 * @returns {Promise<import('../mutations/run.mjs').Result & { seed?: number, rule?: string }>}
 */
export async function trySimulation({ name }, { seeds, workers }) {
  const start = performance.now();
  const { findings } = await runSeeds({ seeds, workers, shrinks: false, stopsAtFirst: true, mutation: name });
  const after = (performance.now() - start) / 1_000;
  const [first] = findings;
  if (first === undefined) return { isFound: false, by: `${seeds} seeds`, after };
  const { seed, failure } = first;
  return { isFound: true, by: `seed ${seed}: \`${failure.rule}\``, after, seed, rule: failure.rule };
}

import { loadavg } from 'node:os';
import { Histogram, median } from './statistics.mjs';

/** A variant that failed so often in a scenario is not tried again there: each failure may take its whole patience. */
const MOST_FAILURES = 2;

/**
 * Measures a scenario for all variants in turn, several times, so that changes on the machine in the meantime affect
 * all of them. Each round begins with another variant. A variant that fails keeps its errors, and the run continues.
 */
export async function interleave(scenario, { context, variants, timing, say }) {
  const rounds = scenario.rounds?.(timing) ?? timing.rounds;
  const results = variants.map((variant) => ({ ...variant, rounds: [], errors: [] }));
  const setting = await scenario.open?.(context);
  try {
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < results.length; i++) {
        const result = results[(i + round) % results.length];
        if (result.errors.length >= MOST_FAILURES) continue;
        say(`${scenario.name}: round ${round + 1} of ${rounds}, ${result.label}`);
        try {
          const load = loadavg()[0];
          const measured = await scenario.measure(setting?.context ?? context, result, timing);
          result.rounds.push({ round, ...measured, load });
        } catch (error) {
          result.errors.push(error.message);
          say(`${scenario.name}: ${result.label} failed: ${error.message}`);
        }
      }
    }
  } finally {
    await setting?.close();
    await Promise.all([context.threads.end(), context.processes.end()]);
  }
  return results.map((result) => ({ ...summarize(result), planned: rounds }));
}

/** The median of each number, the sum of violations, and all waiting times together. */
function summarize({ rounds, ...result }) {
  const names = [...new Set(rounds.flatMap((round) => Object.keys(round)))].filter(
    (name) => !['round', 'waits'].includes(name),
  );
  const medians = Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name]))]));
  if (names.includes('violations')) medians.violations = rounds.reduce((sum, { violations }) => sum + violations, 0);
  const waits = Histogram.merged(rounds.flatMap((round) => round.waits ?? []));
  return {
    ...result,
    medians,
    rounds: rounds.map(({ waits: _, ...numbers }) => numbers),
    waits: waits.count > 0 ? waits : undefined,
  };
}

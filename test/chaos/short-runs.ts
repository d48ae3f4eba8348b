import { check } from '../../lab/checker/check.mjs';
import { runChaos, type ChaosOptions } from '../../lab/chaos/harness/run.mjs';
import { excerpt } from '../../lab/chaos/report/excerpt.mjs';
import { print, summarise, type Summary } from '../../lab/chaos/report/summary.mjs';
import { writeRun, type WrittenRun } from '../../lab/chaos/report/write.mjs';
import { findRedis } from '../../scripts/lib/redis-installation.mjs';

const LENGTH = 3_000;

/**
 * Faults that a run of three seconds seldom meets: faults of several masters, of machines, and of lines whose end no
 * client sees.
 */
export const AMONG_MASTERS = ['majority away', 'majority back empty', 'vote forgotten', 'clock stepped'];
export const OUT_OF_SIGHT = ['client suspended', 'subscribers mute', 'subscribers deaf'].filter(
  (name) => name !== 'client suspended' || process.platform === 'linux',
);

/** Seeds of runs, each on a topology and with all faults or some of them. */
export function shortRuns(...runs: ReadonlyArray<[string, number, string[] | undefined]>): void {
  it.each(runs)('a short chaos run on %s (seed %d) ends without a violation', async (topology, seed, only) => {
    const summary = await runWithoutViolation({ seed, length: LENGTH, topology, only });
    expect(Object.keys(summary.faults).length).toBeGreaterThan(only === undefined ? 3 : 1);
  });
}

/** A run in which all clients acquire locks. @throws Error if it has a violation */
export async function runWithoutViolation(options: Omit<ChaosOptions, 'installation'>): Promise<Summary> {
  const installation = await findRedis();
  const events = await runChaos({ ...options, installation: installation! });
  const verdict = check(events);
  const summary = summarise(verdict);
  if (verdict.violations.length > 0) throw new Error(explain({ events, verdict, summary }));
  // It was a run worth looking at.
  expect(summary.holds).toBeGreaterThan(10);
  expect(Object.keys(summary.clients)).toHaveLength(4);
  return summary;
}

/** The run may not meet the same race again: its history is kept, and its lines about each violation are printed. */
function explain({ events, verdict, summary }: WrittenRun): string {
  const directory = writeRun({ events, verdict, summary });
  const violations = verdict.violations.slice(0, 3);
  const lines = violations.flatMap((each) => ['', `${each.rule}: ${each.message}`, ...excerpt(events, each)]);
  return [print(summary), ...lines, '', `Everything is in ${directory}`].join('\n');
}

import fc from 'fast-check';
import { noOutcomes, type Outcomes } from './clients/outcomes.js';
import { findMutation, MUTATION_VARIABLE } from '../mutations/list.mjs';
import { add, placeOf, textOf } from './report.mjs';
import { describe } from './schedule/describe.js';
import { schedules } from './schedule/generate.js';
import type { Schedule } from './schedule/schedule.js';
import { simulate, type Failure } from './simulate.js';

/** A mutation of what only several masters run cannot be found in a run with one server. */
const ONLY_ON_MASTERS = ['lib/store/quorum/', 'lua/reinstate.lua'];

/** ms that the search for a smaller schedule may take. */
const SHRINKING = 20_000;

/** A seed whose run fails, and the smallest schedule that was found to fail in the same way. */
export interface Finding {
  readonly seed: number;
  readonly failure: Failure;
  readonly shrunk?: {
    /** As lines. */
    readonly schedule: readonly string[];
    readonly failure: Failure;
    /** Leads from the seed's schedule to this one. */
    readonly path: string;
    readonly shrinks: number;
  };
}

export interface SearchResult {
  readonly seeds: number;
  readonly outcomes: Outcomes;
  /** A digest of all events in all runs, independent of the order of the runs. */
  readonly digest: number;
  readonly findings: Finding[];
}

export interface SearchOptions {
  readonly from: number;
  /** The last one. */
  readonly to: number;
  readonly shrinks: boolean;
  readonly stopsAtFirst: boolean;
}

/** Runs the schedules of some seeds. */
export async function search({ from, to, shrinks, stopsAtFirst }: SearchOptions): Promise<SearchResult> {
  // Most errors are created to be returned to a caller, and no code reads their stack.
  Error.stackTraceLimit = 0;
  const sum = { seeds: 0, outcomes: noOutcomes(), digest: 0, findings: [] as Finding[] };
  const mutated = findMutation(process.env[MUTATION_VARIABLE] ?? '')?.file;
  const needsMasters = ONLY_ON_MASTERS.some((path) => mutated?.startsWith(path));
  for (let seed = from; seed <= to && !(stopsAtFirst && sum.findings.length > 0); seed += 1) {
    sum.seeds += 1;
    const schedule = scheduleOf(seed);
    if (needsMasters && schedule.servers.length === 1) continue;
    const { failure, outcomes, digest } = await simulate(schedule);
    const findings = failure === undefined ? [] : [await findingOf(seed, failure, shrinks)];
    add(sum, { outcomes, digest, findings });
  }
  return sum;
}

/** Runs one schedule; `say` receives every step. Resolves to whether it fails. */
export async function replay(seed: number, path: string | undefined, say: (text: string) => void): Promise<boolean> {
  const schedule = scheduleOf(seed, path);
  for (const line of describe(schedule)) say(line);
  const { failure, outcomes, digest } = await simulate(schedule, say);
  say(`${outcomes.steps} steps come to ${textOf(digest)}`);
  if (failure !== undefined) say(`fails at ${placeOf(failure)}\n${failure.stack ?? failure.message}`);
  return failure !== undefined;
}

/** The schedule of a seed; `path`: a smaller one, as a finding reports it. */
function scheduleOf(seed: number, path?: string): Schedule {
  let found: Schedule | undefined;
  const remember = fc.property(schedules, (schedule) => {
    // With a path, fast-check continues with the schedules beside it.
    found ??= schedule;
  });
  fc.check(remember, { seed, path, numRuns: 1 });
  return found!;
}

async function findingOf(seed: number, failure: Failure, shrinks: boolean): Promise<Finding> {
  if (!shrinks) return { seed, failure };
  const fails = fc.asyncProperty(schedules, async (schedule) => {
    const run = await simulate(schedule);
    // Any other result of a smaller schedule is a different matter.
    if (run.failure?.rule === failure.rule) throw new Error(failure.rule);
  });
  const found = await fc.check(fails, { seed, numRuns: 1, interruptAfterTimeLimit: SHRINKING });
  const schedule = found.counterexample?.[0];
  const path = found.counterexamplePath;
  if (schedule === undefined || path === null) return { seed, failure };
  // The last run may have failed behind the time limit, and does not count then.
  const { failure: last = failure } = await simulate(schedule);
  return { seed, failure, shrunk: { schedule: describe(schedule), failure: last, path, shrinks: found.numShrinks } };
}

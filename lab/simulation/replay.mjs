// Runs one schedule and tells every step.
import { describe } from './schedule/describe.ts';
import { scheduleOf } from './search.ts';
import { simulate } from './simulate.ts';
import { placeOf } from './report.mjs';

const [seed, path] = process.argv.slice(2);
const schedule = scheduleOf(Number(seed), path);
for (const line of describe(schedule)) console.log(line);
const { failure, outcomes, digest } = await simulate(schedule, (line) => console.log(line));
console.log(`${outcomes.steps} steps come to ${(digest >>> 0).toString(16).padStart(8, '0')}`);
if (failure !== undefined) console.log(`fails at ${placeOf(failure)}\n${failure.stack ?? failure.message}`);
process.exitCode = failure === undefined ? 0 : 1;

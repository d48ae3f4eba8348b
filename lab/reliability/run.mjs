import { build } from '../../scripts/build.mjs';
import { tell } from '../../scripts/lib/counts.mjs';
import { runAsScript } from '../../scripts/lib/run.mjs';
import { ensureRedis } from '../../scripts/setup.mjs';
import { FAULTS } from './faults/index.mjs';
import { measureHolder } from './measure-holder.mjs';
import { measure } from './measure.mjs';
import { readOptions, USAGE } from './options.mjs';
import { summarize } from './report/summary.mjs';
import { writeResults, writeTables } from './report/write.mjs';
import { TOPOLOGIES } from './topologies/index.mjs';
import { startServer } from './topologies/server.mjs';

/** Starts real servers of each topology, makes each fault some times, and measures how long until everything works as before. */
async function main(args) {
  const options = readOptions(args);
  if (options.help) return void console.log(USAGE);
  if (options.onlyReport) return writeTables();
  const { installation } = await ensureRedis();
  if (options.build) await build();

  const results = [];
  const untouched = await startServer(installation);
  try {
    for (const scenario of options.scenarios) {
      const runs = await runsOf(scenario, { installation, untouched, rounds: options.rounds });
      const result = summarize(scenario, runs);
      results.push(result);
      console.log(lineOf(result));
    }
  } finally {
    await untouched.stop();
  }
  if (options.isComplete) {
    writeResults(results, { installation });
    writeTables();
  }
  const failed = results.filter(({ problems }) => problems.length > 0).length;
  return tell({ passed: results.length - failed, failed });
}

async function runsOf(scenario, { installation, untouched, rounds }) {
  const fault = FAULTS[scenario.fault];
  const start = () => TOPOLOGIES[scenario.topology].start(installation, fault.needs);
  const runs = [];
  let topology;
  try {
    for (let round = 0; round < rounds; round++) {
      topology ??= await start();
      runs.push(await one({ topology, untouched, fault, within: scenario.within }));
      // A topology that failed once may be in a state in which nothing else can be measured.
      if (fault.isLasting || runs.at(-1).problems.length > 0) {
        await topology.stop();
        topology = undefined;
      } else {
        await topology.untilWhole();
      }
    }
  } finally {
    await topology?.stop();
  }
  return runs;
}

const one = (what) => (what.fault.ofHolder === undefined ? measure(what) : measureHolder(what));

function lineOf({ topology, fault, problems, times, failures }) {
  const all = Object.entries(times).map(([role, { median, worst }]) => `${role} ${median} (${worst})`);
  const outcome = problems.length === 0 ? 'ok' : problems.join('; ');
  return `${topology} ${fault}: ${outcome}; ms: ${all.join(', ')}; failures: ${JSON.stringify(failures)}`;
}

await runAsScript(() => main(process.argv.slice(2)));

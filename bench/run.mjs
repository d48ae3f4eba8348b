// Compares all libraries in one run: npm run bench -- --help
import { cpus, loadavg } from 'node:os';
import { runAsScript } from '../scripts/lib/run.mjs';
import { build } from '../scripts/build.mjs';
import { checkNodeVersion, ensureNodeModules, ensureRedis } from '../scripts/setup.mjs';
import { ensurePeers, installLibrary, versionOf } from './harness/install.mjs';
import { readOptions, USAGE } from './harness/options.mjs';

async function bench() {
  const options = readOptions(process.argv.slice(2));
  if (options.help) return console.log(USAGE);
  checkNodeVersion();
  await ensureNodeModules();
  await ensurePeers();
  const redis = await ensureRedis();
  if (options.build) await build();
  installLibrary();
  const server = await redis.start();
  try {
    return await runAll(server, options);
  } finally {
    await server.stop();
  }
}

async function runAll({ host, port }, options) {
  // Imported after the installation of the libraries.
  const { ServerView } = await import('./harness/server.mjs');
  const { Threads } = await import('./harness/threads.mjs');
  const { interleave } = await import('./harness/interleave.mjs');
  const { loadLibrary, loadVariants } = await import('./libraries/index.mjs');
  const { loadScenario } = await import('./scenarios/index.mjs');
  const { writeResults } = await import('./report/write.mjs');

  const view = new ServerView({ host, port });
  const context = { threads: new Threads(), server: view, target: { host, port } };
  const { version: redisVersion } = await view.usage();
  const loads = [loadavg()[0]];
  const scenarios = [];
  try {
    const variants = await loadVariants(options.libraries);
    for (const variant of variants) variant.version = versionOf((await loadLibrary(variant.library)).module);
    for (const name of options.scenarios) {
      const scenario = await loadScenario(name);
      const chosen = variants.filter((variant) => scenario.includes(variant));
      const included = scenario.expand?.(chosen, options.timing) ?? chosen;
      if (included.length === 0) continue;
      const results = await interleave(scenario, { context, variants: included, timing: options.timing, say });
      loads.push(loadavg()[0]);
      scenarios.push({ ...scenario, results, notes: scenario.notes?.(results) });
    }
    const machine = {
      ...{ node: process.versions.node, redis: redisVersion, ioredis: versionOf('ioredis') },
      ...{
        cores: cpus().length,
        cpu: cpus()[0]?.model.trim() ?? 'unknown',
        load: [Math.min(...loads), Math.max(...loads)],
      },
    };
    const run = {
      isComplete: options.isComplete && scenarios.every(({ results }) => results.every(isWhole)),
      rounds: options.timing.rounds,
      windowMs: options.timing.window,
      date: new Date().toISOString().slice(0, 10),
    };
    say();
    const measured = variants.filter(({ library, variant }) =>
      scenarios.some(({ results }) => results.some((of) => of.library === library && of.variant === variant)),
    );
    console.log(writeResults({ machine, run, scenarios, variants: measured }));
    return scenarios.some(({ results }) => results.some(({ medians }) => medians.violations > 0)) ? 1 : 0;
  } finally {
    view.close();
    await context.threads.end();
  }
}

const isWhole = ({ errors }) => errors.length === 0;

/** A progress line that is overwritten, if the output is a terminal. */
function say(text = '') {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
  else if (text !== '') process.stderr.write(`${text}\n`);
}

await runAsScript(bench);

// Compares all libraries in one run: npm run bench -- --help
import { cpus, loadavg } from 'node:os';
import { runAsScript, StepFailed } from '../scripts/lib/run.mjs';
import { build } from '../scripts/build.mjs';
import { checkNodeVersion, ensureNodeModules, ensureRedis } from '../scripts/setup.mjs';
import { PROGRAMS, prepare } from './foreign/programs.mjs';
import { ensurePeers, installLibrary, versionOf } from './harness/install.mjs';
import { readOptions, USAGE } from './harness/options.mjs';
import { FOREIGN, loadLibrary, loadVariants } from './libraries/index.mjs';
import { OWN_LIBRARIES } from './scenarios/index.mjs';

async function bench() {
  const options = readOptions(process.argv.slice(2));
  if (options.help) return console.log(USAGE);
  checkNodeVersion();
  await ensureNodeModules();
  await ensurePeers();
  const redis = await ensureRedis();
  const tools = { ...(await leaveOutMissing(options)), ...(await leaveOutScenarios(options)) };
  if (options.build) await build();
  installLibrary();
  const server = await redis.start();
  try {
    return await runAll(server, { ...options, tools });
  } finally {
    await server.stop();
  }
}

/**
 * Builds the programs of other languages. Takes libraries from the options whose program cannot be built, and says so.
 * Returns the versions of the languages.
 */
async function leaveOutMissing(options) {
  const versions = {};
  for (const program of Object.keys(PROGRAMS)) {
    const wanted = [];
    for (const name of options.libraries.filter((each) => FOREIGN.includes(each))) {
      if ((await loadLibrary(name)).program === program) wanted.push(name);
    }
    if (wanted.length === 0) continue;
    const { missing, version } = await prepare(program);
    if (missing === undefined) {
      versions[PROGRAMS[program].name] = version;
      continue;
    }
    console.log(`Not measured: ${wanted.join(', ')}. ${missing}.`);
    options.libraries = options.libraries.filter((name) => !wanted.includes(name));
    options.isComplete = false;
  }
  if (options.libraries.length === 0) throw new StepFailed('No library is left to measure.');
  return versions;
}

/** The same for scenarios that measure libraries of their own. */
async function leaveOutScenarios(options) {
  const versions = {};
  for (const scenario of options.scenarios.filter((name) => name in OWN_LIBRARIES)) {
    const libraries = await Promise.all(OWN_LIBRARIES[scenario].map(loadLibrary));
    for (const program of new Set(libraries.flatMap(({ program }) => program ?? []))) {
      const { missing, version } = await prepare(program);
      if (missing === undefined) versions[PROGRAMS[program].name] = version;
      else {
        console.log(`Not measured: the scenario ${scenario}. ${missing}.`);
        options.scenarios = options.scenarios.filter((name) => name !== scenario);
      }
    }
  }
  if (options.scenarios.length === 0) throw new StepFailed('No scenario is left to measure.');
  return versions;
}

async function runAll({ host, port }, options) {
  // Imported after the installation of the libraries.
  const { ServerView } = await import('./harness/server.mjs');
  const { Threads } = await import('./harness/threads.mjs');
  const { Processes } = await import('./harness/processes.mjs');
  const { interleave } = await import('./harness/interleave.mjs');
  const { loadScenario } = await import('./scenarios/index.mjs');
  const { writeResults } = await import('./report/write.mjs');

  const view = new ServerView({ host, port });
  const context = { threads: new Threads(), processes: new Processes(), server: view, target: { host, port } };
  const { version: redisVersion } = await view.usage();
  const loads = [loadavg()[0]];
  const began = performance.now();
  const scenarios = [];
  try {
    const librariesOf = (scenario) => OWN_LIBRARIES[scenario] ?? options.libraries;
    const variants = await loadVariants(options.scenarios.flatMap(librariesOf));
    for (const variant of variants) {
      const { module, version = () => versionOf(module) } = await loadLibrary(variant.library);
      variant.version = version();
    }
    for (const name of options.scenarios) {
      const scenario = await loadScenario(name);
      const offered = variants.filter(({ library }) => librariesOf(name).includes(library));
      const chosen = offered.filter((variant) => scenario.includes(variant));
      const included = scenario.expand?.(chosen, options.timing) ?? chosen;
      if (included.length === 0) continue;
      const results = await interleave(scenario, { context, variants: included, timing: options.timing, say });
      loads.push(loadavg()[0]);
      scenarios.push({ ...scenario, results, notes: scenario.notes?.(results) });
    }
    const all = scenarios.flatMap(({ results }) => results);
    const oursFailed = all.some(({ library, errors }) => library === 'ours' && errors.length > 0);
    const machine = {
      ...{ node: process.versions.node, redis: redisVersion, ioredis: versionOf('ioredis') },
      tools: options.tools,
      ...{
        cores: cpus().length,
        cpu: cpus()[0]?.model.trim() ?? 'unknown',
        load: [Math.min(...loads), Math.max(...loads)],
      },
    };
    const run = {
      isComplete: options.isComplete && !oursFailed,
      rounds: options.timing.rounds,
      windowMs: options.timing.window,
      minutes: Math.ceil((performance.now() - began) / 60_000),
      date: new Date().toISOString().slice(0, 10),
    };
    say();
    const measured = variants.filter(({ library, variant }) =>
      scenarios.some(({ results }) => results.some((of) => of.library === library && of.variant === variant)),
    );
    console.log(writeResults({ machine, run, scenarios, variants: measured }));
    return oursFailed || all.some(({ medians }) => medians.violations > 0) ? 1 : 0;
  } finally {
    view.close();
    await Promise.all([context.threads.end(), context.processes.end()]);
  }
}

/** A progress line that is overwritten, if the output is a terminal. */
function say(text = '') {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
  else if (text !== '') process.stderr.write(`${text}\n`);
}

await runAsScript(bench);

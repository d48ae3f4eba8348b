import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { build } from './build.mjs';
import { killHolder, runLongImport, runNight } from './lib/demo-jobs.mjs';
import { sellOut } from './lib/demo-orders.mjs';
import { openRedis } from './lib/demo-redis.mjs';
import { bold, heading, line, Results, startLine, time } from './lib/demo-report.mjs';
import { ShopProcess } from './lib/demo-shop.mjs';
import { ROOT } from './lib/paths.mjs';
import { runAsScript, runOrFail, StepFailed } from './lib/run.mjs';
import { checkNodeVersion, ensureAll, ensureNodeModules } from './setup.mjs';

const PROCESSES = 3;
/** Short, so that renewals and takeovers happen within seconds. In production it is 30 s. */
const LEASE = 1_000;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/**
 * A shop on three processes that oversells without the lock, and never with it. Exits with 0 if every promise was kept.
 */
async function demo() {
  const interruption = new AbortController();
  for (const signal of Object.keys(SIGNALS)) process.on(signal, () => interruption.abort(signal));
  const { signal } = interruption;
  const endings = [];
  try {
    await install(signal);
    const began = performance.now();
    await buildAll(signal);
    const redis = await openRedis();
    endings.push(redis.end);
    signal.throwIfAborted();
    const shops = openShops(redis);
    endings.push(() => Promise.all(shops.map((shop) => shop.stop())));
    const results = new Results();
    await Promise.race([perform(shops, redis, results, signal), aborted(signal)]);
    await endAll(endings);
    return results.summary(performance.now() - began);
  } catch (error) {
    if (!signal.aborted) throw error;
    console.log('\nInterrupted.');
    return SIGNALS[signal.reason];
  } finally {
    await endAll(endings);
  }
}

async function install(signal) {
  checkNodeVersion();
  console.log(bold('nestjs-redis-locks: a shop on three processes'));
  console.log();
  // With a Redis of the caller's own, none has to be installed.
  await (process.env.REDIS_URL ? ensureNodeModules() : ensureAll());
  signal.throwIfAborted();
}

async function buildAll(signal) {
  await step('Building the library', () => build());
  signal.throwIfAborted();
  await step('Building the sample app', buildApp);
  signal.throwIfAborted();
}

function buildApp() {
  const nest = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
  return runOrFail(process.execPath, [nest, 'build'], { what: 'nest build' });
}

function openShops({ url, keyPrefix }) {
  const env = { REDIS_URL: url, KEY_PREFIX: keyPrefix, LOCK_LEASE: `${LEASE}ms` };
  return Array.from({ length: PROCESSES }, (_, i) => new ShopProcess(`process ${i + 1}`, env));
}

/** An error that stops the demo early is a broken promise, too. */
async function perform(shops, redis, results, signal) {
  try {
    await Promise.race([play(shops, redis, results), ...shops.map((shop) => shop.crash())]);
  } catch (error) {
    if (signal.aborted || !(error instanceof StepFailed)) throw error;
    results.check('The demo finished.', false, error.message);
  }
}

async function play(shops, redis, results) {
  await step(`Starting ${PROCESSES} processes`, () => Promise.all(shops.map((shop) => shop.listening())));
  line(redis.what);

  heading('1  Orders');
  await sellOut(shops, results);

  heading('2  A nightly job on every process');
  await runNight(shops, results, 1);

  heading('3  A long import');
  await runLongImport(shops, results, LEASE);

  heading('4  The next night');
  await runNight(shops, results, 2);

  heading('5  A process is killed');
  await killHolder(shops, results, LEASE);
}

async function step(what, work) {
  const began = performance.now();
  startLine(`${what}: `);
  try {
    await work();
  } catch (error) {
    console.log('failed');
    throw error;
  }
  console.log(time(performance.now() - began));
}

function aborted(signal) {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

/** Ends resources in reverse order. A failure does not keep the others from ending. */
async function endAll(endings) {
  let failure;
  for (let end; (end = endings.pop());) await end().catch((error) => (failure ??= error));
  if (failure !== undefined) throw failure;
}

await runAsScript(demo);

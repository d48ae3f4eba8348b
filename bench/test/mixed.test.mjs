// Node and Java in one measurement: each side is counted for itself, and an overlap between the two is detected.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ensureRedis } from '../../scripts/setup.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { prepare } from '../foreign/programs.mjs';
import { readOptions } from '../harness/options.mjs';
import { Processes } from '../harness/processes.mjs';
import { ServerView } from '../harness/server.mjs';
import { Threads } from '../harness/threads.mjs';
import { loadVariants } from '../libraries/index.mjs';
import { loadScenario, OWN_LIBRARIES } from '../scenarios/index.mjs';

const RUN = fileURLToPath(new URL('../run.mjs', import.meta.url));
/** Long enough for a section of each caller, even on a busy machine: the scenario doubles it. */
const TIMING = { warmUp: 200, window: 1_500, isQuick: true };

const redis = await ensureRedis();
const { missing } = await prepare('java');
if (missing !== undefined) console.log(`Not tested: Node and Java together. ${missing}.`);

test('the scenario has a flag and a name', () => {
  assert.deepEqual(readOptions(['--mixed']).scenarios, ['mixed']);
  assert.deepEqual(readOptions(['--scenario', 'mixed']).scenarios, ['mixed']);
  assert.equal(readOptions(['--mixed']).isComplete, false);
});

test('without Java one line says that the scenario is not measured', async (t) => {
  const path = mkdtempSync(join(tmpdir(), 'lock-bench-'));
  t.after(() => rmSync(path, { recursive: true }));
  symlinkSync(process.execPath, join(path, 'node'));
  const env = { ...process.env, PATH: path, LOCKS_TEST_REDIS: JSON.stringify(redis.installation) };
  const { code, output } = await new Promise((resolve) =>
    execFile(process.execPath, [RUN, '--mixed', '--no-build'], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code, output: `${stdout}${stderr}` }),
    ),
  );
  assert.match(output, /^Not measured: the scenario mixed\. .+\.$/m);
  assert.match(output, /^No scenario is left to measure\.$/m);
  assert.equal(code, 1);
});

describe('Node and Java', { skip: missing !== undefined }, () => {
  let server;
  let context;
  let scenario;
  let variants;

  before(async () => {
    server = await redis.start();
    const target = { host: server.host, port: server.port };
    context = { threads: new Threads(), processes: new Processes(), server: new ServerView(target), target };
    scenario = await loadScenario('mixed');
    variants = scenario.expand(await loadVariants(OWN_LIBRARIES.mixed), TIMING);
  });

  after(async () => {
    await Promise.all([context?.threads.end(), context?.processes.end()]);
    context?.server.close();
    await server?.stop();
  });

  test('each lock and each length of a section is measured together and for each side alone', () => {
    const labels = variants.map(({ label }) => label);
    assert.equal(new Set(labels).size, 2 * 2 * 3);
    for (const label of ['RLock, 0 ms, 2 Node + 2 Redisson', 'RFairLock, 5 ms, 4 Node', 'RLock, 5 ms, 4 Redisson']) {
      assert.ok(labels.includes(label), label);
    }
  });

  const find = (label) => variants.find((variant) => variant.label === label);

  test('a fair lock serves both sides, and nothing overlaps', async () => {
    const measured = await scenario.measure(context, find('RFairLock, 5 ms, 2 Node + 2 Redisson'), TIMING);
    assert.equal(measured.violations, 0);
    assert.ok(measured.nodeSections > 0 && measured.javaSections > 0, JSON.stringify(measured));
    assert.ok(Math.abs(measured.nodeSections + measured.javaSections - measured.all) < 1e-6);
    assert.ok(Math.abs(measured.nodeShare + measured.javaShare - 100) < 1e-6);
    // Each of the four callers waits for the others: a caller that is always next, or never, would show here.
    assert.ok(measured.jain > 0.8, `${measured.jain}`);
    for (const side of ['node', 'java']) {
      assert.ok(measured[`${side}P50`] >= 5, side);
      assert.ok(measured[`${side}P50`] <= measured[`${side}Longest`], side);
    }
    assert.ok(measured.commands > 1, `${measured.commands}`);
  });

  test('an RLock excludes both sides from each other', async () => {
    const measured = await scenario.measure(context, find('RLock, 0 ms, 2 Node + 2 Redisson'), TIMING);
    assert.equal(measured.violations, 0);
    assert.ok(measured.all > 0);
  });

  test('a side alone has no figures of the other', async () => {
    const measured = await scenario.measure(context, find('RLock, 0 ms, 4 Node'), TIMING);
    assert.equal(measured.violations, 0);
    assert.equal(measured.nodeShare, 100);
    assert.equal(measured.javaShare, undefined);
  });

  test('a Node thread and a Java process that do not exclude each other are detected', async (t) => {
    const state = context.processes.newState();
    t.after(() => state.close());
    const [thread] = await context.threads.take(1, 'ours-redisson');
    const [java] = await context.processes.take(1, 'redisson-lock');
    const terms = { ...context.target, ...state.shared, variant: 'defaults' };
    await context.threads.open(thread, { ...terms, library: 'ours-redisson', slot: 0 });
    await context.processes.open(java, { ...terms, library: 'redisson-lock', slot: 1 });
    await thread.call('begin', 'contend', { key: 'one', waiters: 1, sectionMs: 1 });
    await java.call('begin', 'contend', { key: 'another', waiters: 1, sectionMs: 1 });
    state.start();
    // Two may be sections that end at this moment.
    await eventually(() => state.violations > 2, { what: 'an overlap' });
    state.stop();
    await Promise.all([thread.call('finish'), java.call('finish')]);
    assert.ok(state.violations > 0);
    await Promise.all([thread.call('close'), java.call('close')]);
  });
});

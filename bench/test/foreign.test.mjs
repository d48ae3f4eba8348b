// Programs of other languages measure as the threads do: the same state, the same classes of times, the same records.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { ensureRedis } from '../../scripts/setup.mjs';
import { prepare, PROGRAMS } from '../foreign/programs.mjs';
import { contentionMetrics } from '../harness/contention.mjs';
import { measure } from '../harness/measurement.mjs';
import { MappedState } from '../harness/mapped-state.mjs';
import { Processes } from '../harness/processes.mjs';
import { ServerView } from '../harness/server.mjs';
import { Histogram } from '../harness/statistics.mjs';
import { loadLibrary } from '../libraries/index.mjs';

const OF_PROGRAM = { java: 'redisson-lock', go: 'redsync' };
const TIMING = { warmUp: 200, window: 3_000, isQuick: true };

let server;
let context;

before(async () => {
  server = await (await ensureRedis()).start();
  const target = { host: server.host, port: server.port };
  context = { processes: new Processes(), server: new ServerView(target), target };
});

after(async () => {
  await context.processes.end();
  context.server.close();
  await server.stop();
});

/** A state whose file is removed after the test, even if the test fails. */
function mappedState(t) {
  const state = new MappedState();
  t.after(() => {
    state.close();
    assert.equal(existsSync(state.path), false);
  });
  return state;
}

/** All are built before the first test, whose end is the end of Redis. */
const present = [];
for (const program of Object.keys(PROGRAMS)) {
  const { missing, version } = await prepare(program);
  if (missing === undefined) present.push({ program, version });
  else console.log(`Not tested: the ${PROGRAMS[program].name} program. ${missing}.`);
}

for (const { program, version } of present) {
  const library = OF_PROGRAM[program];
  describe(PROGRAMS[program].name, () => {
    test('has a version, and so has its library', async () => {
      assert.match(version, /^\d+\./);
      assert.match((await loadLibrary(library)).version(), /^\d+\.\d+\.\d+$/);
    });

    test('processes that take one of some keys exclude each other', async () => {
      const terms = { key: 'some', keys: 3, waiters: 3 };
      const options = { processes: 2, library, variant: 'defaults', loop: 'contend', terms, timing: TIMING };
      const metrics = contentionMetrics(await measure(context, options));
      assert.equal(metrics.violations, 0);
      assert.ok(metrics.waits.count > metrics.unserved);
    });

    test('processes that compete for a key report sections, waits and costs', async () => {
      const terms = { key: 'hot', waiters: 3 };
      const options = { processes: 2, library, variant: 'defaults', loop: 'contend', terms, timing: TIMING };
      const measured = await measure(context, options);
      const metrics = contentionMetrics(measured);
      assert.equal(metrics.violations, 0);
      assert.equal(measured.parts.length, 2);
      const sections = measured.parts.flatMap((part) => part.sections);
      assert.equal(sections.length, 6);
      const count = sections.reduce((sum, each) => sum + each, 0);
      assert.ok(count > 0);
      assert.equal(metrics.waits.count, count + metrics.unserved);
      assert.ok(metrics.longest < 30_000 && metrics.p50 <= metrics.longest, `${metrics.p50}, ${metrics.longest}`);
      assert.ok(metrics.commands > 1, `${metrics.commands}`);
      assert.ok(metrics.clientCpu > 0 && metrics.serverCpu >= 0);
    });

    if (program === 'java') {
      for (const terms of [{ mode: 'permit', permits: 2 }, { mode: 'readWrite' }]) {
        test(`callers that share a key: ${terms.mode}`, async () => {
          const contention = { key: 'shared', waiters: 3, sectionMs: 1, ...terms };
          const options = { processes: 2, library, variant: 'defaults', loop: 'contend', timing: TIMING };
          const metrics = contentionMetrics(await measure(context, { ...options, terms: contention }));
          assert.equal(metrics.violations, 0);
          assert.ok(metrics.waits.count > metrics.unserved);
        });
      }
    }

    for (const keys of [undefined, 1]) {
      test(`processes that do not exclude each other are found out: ${keys === undefined ? 'one key' : 'one of many'}`, async (t) => {
        const [a, b] = await context.processes.take(2, library);
        const state = mappedState(t);
        const terms = { ...context.target, ...state.shared, library, variant: 'defaults' };
        await context.processes.open(a, { ...terms, slot: 0 });
        await context.processes.open(b, { ...terms, slot: 1 });
        await a.call('begin', 'contend', { key: 'one', keys, waiters: 1, sectionMs: 1 });
        await b.call('begin', 'contend', { key: 'another', keys, waiters: 1, sectionMs: 1 });
        state.start();
        const end = Date.now() + 30_000;
        // Two may be sections that end at this moment.
        while (state.violations <= 2 && Date.now() < end) await sleep(10);
        state.stop();
        await Promise.all([a.call('finish'), b.call('finish')]);
        assert.ok(state.violations > 0);
        await Promise.all([a.call('close'), b.call('close')]);
      });
    }

    test('callers of free keys report their cycles', async () => {
      const options = { library, variant: 'defaults', loop: 'cycle', terms: { callers: 2 }, timing: TIMING };
      const { parts, commands } = await measure(context, options);
      const cycles = Histogram.merged(parts.map((part) => part.cycles));
      assert.ok(cycles.count > 0);
      assert.ok(cycles.quantile(0.5) <= cycles.max);
      assert.ok(commands >= cycles.count, `${commands} commands, ${cycles.count} cycles`);
    });

    test('a process that is killed fails its calls', async (t) => {
      const [process] = await context.processes.take(1, library);
      const state = mappedState(t);
      const terms = { ...context.target, ...state.shared, library, variant: 'defaults', slot: 0 };
      await context.processes.open(process, terms);
      await process.call('begin', 'contend', { key: 'hot', waiters: 1 });
      const finished = assert.rejects(process.call('finish'), /has ended/);
      await context.processes.drop([process]);
      await finished;
    });
  });
}

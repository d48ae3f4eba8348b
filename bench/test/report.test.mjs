// A library that fails is a result, and the documentation has the figures of the results.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { interleave } from '../harness/interleave.mjs';
import { within } from '../harness/measurement.mjs';
import { readOptions } from '../harness/options.mjs';
import { FOREIGN, LIBRARIES, loadVariants } from '../libraries/index.mjs';
import { draw } from '../report/charts.mjs';
import { glance, isForGlance, slowNetwork } from '../report/glance.mjs';
import { toMarkdown } from '../report/table.mjs';
import { EXTRAS_OF_ALL, loadScenario, SCENARIOS } from '../scenarios/index.mjs';

const ROOT = new URL('../../', import.meta.url);
const TIMING = { rounds: 3 };
const crew = { end: async () => undefined };
const context = { threads: crew, processes: crew };
const columns = [{ key: 'throughput', title: 'sections/s', digits: 0 }];

/** Measures variants whose labels say in which rounds they fail, as in `fails 0 1`. */
async function measured(...labels) {
  const tries = [];
  const scenario = {
    ...{ name: 'made-up', title: 'Made up', about: '', columns, charts: [] },
    async measure(_context, { label }) {
      const round = tries.filter((each) => each === label).length;
      tries.push(label);
      if (label.startsWith('fails') && label.includes(round)) throw new Error('hung');
      return { throughput: 7 };
    },
  };
  const variants = labels.map((label) => ({ library: label, variant: 'defaults', label }));
  const results = await interleave(scenario, { context, variants, timing: TIMING, say() {} });
  return { tries, results, scenario: { ...scenario, results } };
}

const markdown = (scenario) =>
  toMarkdown({
    machine: { node: '20', redis: '7', ioredis: '5', cores: 2, cpu: 'x', load: [0, 1] },
    run: { isComplete: true, rounds: 3, windowMs: 2_000, minutes: 50, date: '2026-11-25' },
    ...{ scenarios: [scenario], variants: [], charts: [] },
  });

test('a library that fails does not end the run, and is left out after two failures', async () => {
  const { tries, results } = await measured('fails 0 1', 'works');
  assert.equal(tries.filter((label) => label === 'works').length, 3);
  assert.equal(tries.filter((label) => label === 'fails 0 1').length, 2);
  assert.deepEqual(
    results.map(({ errors, rounds }) => [errors.length, rounds.length]),
    [
      [2, 0],
      [0, 3],
    ],
  );
});

test('the results say that a library failed in all rounds', async () => {
  const { scenario } = await measured('fails 0 1', 'works');
  const text = markdown(scenario);
  assert.match(text, /^\| fails 0 1 \| failed \|$/m);
  assert.match(
    text,
    /^\*\*fails 0 1 failed 2 times\*\*, and was left out of the other round\. It has no figures\. .+ hung\.$/m,
  );
});

test('the results say in how many rounds a library was measured', async () => {
  const { scenario } = await measured('fails 1');
  const text = markdown(scenario);
  assert.match(text, /^\| fails 1 \| 7 \|$/m);
  assert.match(text, /^\*\*fails 1 failed once\*\*\. Its figures are of 2 of 3 rounds\. .+ hung\.$/m);
});

test('a step that does not end is an error that says which', async () => {
  const never = new Promise(() => undefined);
  const late = within(never, 10, 'hung while callers competed', () => '; callers that still wait for the lock: 3');
  await assert.rejects(late, /^Error: hung while callers competed: no end within 0\.01 s; callers that .+: 3$/);
  assert.equal(await within(Promise.resolve(1), 1_000, 'hung'), 1);
});

test('a complete run has all languages and all scenarios, and three rounds or more', () => {
  const all = readOptions(['--all']);
  assert.deepEqual(all.libraries, [...LIBRARIES, ...FOREIGN]);
  assert.deepEqual(all.scenarios, [...SCENARIOS, ...EXTRAS_OF_ALL]);
  assert.ok(all.isComplete);
  for (const less of [['--rounds', '2'], ['--quick'], ['--only', 'ours'], ['--scenario', 'permits']]) {
    assert.equal(readOptions(['--all', ...less]).isComplete, false, less.join(' '));
  }
  assert.equal(readOptions([]).isComplete, false);
  assert.deepEqual(readOptions(['--neighbour']).scenarios, ['neighbour']);
});

test('shared keys are measured with the defaults and the tuned variants that have a meaning there', async () => {
  const variants = await loadVariants([...LIBRARIES, ...FOREIGN]);
  const labels = async (name) => {
    const { includes, expand } = await loadScenario(name);
    return expand(variants.filter(includes)).map(({ label }) => label);
  };
  const readers = ['Redisson RReadWriteLock (JVM)', 'Redisson RReadWriteLock (JVM), leased'];
  assert.deepEqual(await labels('readers'), ['nestjs-redis-locks', ...readers]);
  assert.deepEqual(await labels('permits'), [
    'nestjs-redis-locks',
    'redis-semaphore `Semaphore`',
    'redis-semaphore `Semaphore`, eager',
    'Redisson RSemaphore (JVM)',
  ]);
});

test('keys at random are measured without the variants for waiters, except the tuned ones', async () => {
  const variants = await loadVariants([...LIBRARIES, ...FOREIGN]);
  const { includes } = await loadScenario('many-keys');
  const measured = new Set(variants.filter(includes).map(({ library }) => library));
  for (const library of [...LIBRARIES, ...FOREIGN]) assert.equal(measured.has(library), library !== 'raw', library);
});

const result = (library, throughput, more = {}) => ({
  ...{ library, variant: 'defaults', label: library, errors: [], rounds: [{}], ...more },
  medians: { throughput, jain: 0.987, longest: 1_234, roundTrip: 2.51 },
});

const SOME = [
  result('ours', 100),
  result('ours', 900, { variant: 'background', label: 'ours, background' }),
  result('scripts', 5_000),
  result('redlock', 40),
  result('redlock', 50, { variant: 'tuned', label: 'redlock, tuned' }),
  result('redlock', 48, { variant: 'eager', label: 'redlock, eager' }),
  result('redis-semaphore', 45),
  result('redis-semaphore', 44, { variant: 'eager', label: 'redis-semaphore, eager' }),
  result('redisson-lock', 30, { label: 'Redisson RLock (JVM)', world: 'JVM' }),
  result('redisson-fair-lock', 20, { label: 'Redisson RFairLock (JVM)', world: 'JVM' }),
  result('redsync', 120, { label: 'redsync (Go)', world: 'Go' }),
  result('rueidislock', 999, { label: 'rueidislock (Go)', world: 'Go', errors: ['hung'] }),
];
const RESULTS = {
  machine: { node: '20.1.0', redis: '7.0', cores: 2, cpu: 'x', tools: { Java: '17', Go: '1.26' } },
  run: { isComplete: true, rounds: 3, windowMs: 2_000, date: '2026-11-25' },
  scenarios: SCENARIOS.map((name) => ({ name, title: name, charts: ['hot-key'], results: SOME })),
};

test('the table of the documentation has the fastest library of each language that did not fail', () => {
  assert.ok(isForGlance(RESULTS));
  const lines = glance(RESULTS).split('\n');
  assert.equal(lines[0], '| scenario | this library | best Node peer | Redisson | best for Go |');
  const fairness = '(0.99, 1\u202f234 ms)';
  assert.ok(
    lines.includes(
      `| one key, 16 processes | 100 ${fairness} | 50 redlock, tuned ${fairness} | 30 RLock ${fairness} | **120** redsync ${fairness} |`,
    ),
    lines.join('\n'),
  );
  assert.ok(lines.includes(`| the same, release in the background | **900** ${fairness} |  |  |  |`));
  const text = lines.join(' ');
  assert.match(text, / Hung, failed .+ left out: rueidislock in sequential, .+ decorator\. $/);
  assert.match(text, / Node 20\.1\.0, Redis 7\.0, Java 17, Go 1\.26; 2 cores \(x\); medians of 3 rounds of 2\.0 s/);
});

test('a run that lacks scenarios, or is not complete, has no such table', () => {
  assert.equal(isForGlance({ ...RESULTS, scenarios: RESULTS.scenarios.slice(1) }), false);
  assert.equal(isForGlance({ ...RESULTS, run: { ...RESULTS.run, isComplete: false } }), false);
});

test('the comparison has a paragraph that the results can replace', () => {
  const paragraph = slowNetwork(RESULTS).replaceAll('\n', ' ');
  assert.match(paragraph, /round trips of 2\.5 ms\. With default settings, this library grants the lock 100 times/);
  assert.match(paragraph, /redlock 40 \(1\.2 s\), and redis-semaphore 45 \(1\.2 s\)\. With a retry every millisecond/);
});

test('the chart of the documentation has one bar for each library, and both of this one', () => {
  const chart = draw('hot-key', RESULTS.scenarios.slice(0, 1));
  for (const label of ['redlock, tuned', 'redis-semaphore', 'redsync (Go)']) assert.ok(chart.includes(`>${label}<`));
  for (const label of ['ours', 'ours, background']) assert.ok(chart.includes(`>${label}<`));
  for (const label of ['redlock', 'scripts']) assert.ok(!chart.includes(`>${label}<`));
});

test('the documentation has the figures of the committed results', async () => {
  const check = [fileURLToPath(new URL('bench/glance.mjs', ROOT)), '--check'];
  const { stdout } = await promisify(execFile)(process.execPath, check);
  const results = JSON.parse(readFileSync(new URL('bench/results/results.json', ROOT), 'utf8'));
  assert.match(stdout, isForGlance(results) ? /^Up to date\.$/m : /^Not checked: /m);
});

// A measurement has to detect the effect that it looks for.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { AttachedState } from '../harness/attached-state.mjs';
import { contentionMetrics } from '../harness/contention.mjs';
import { LOOPS } from '../harness/loops.mjs';
import { MappedState } from '../harness/mapped-state.mjs';
import { SharedState } from '../harness/shared-state.mjs';
import { Histogram, jain, median } from '../harness/statistics.mjs';

/**
 * Runs callers for 50 ms or more, in which each timer of 1 ms has its turn: a single one may last for all of them.
 * `views` are the states of the threads, if these do not share the memory.
 */
async function contend(client, terms, { state = new SharedState(), views = [state] } = {}) {
  const loops = views.map((view, slot) => LOOPS.contend({ client, state: view, slot, key: 'hot', ...terms }));
  state.start();
  for (let ms = 0; ms < 50; ms++) await sleep(1);
  state.stop();
  const parts = await Promise.all(loops);
  const nothing = { commands: 0, serverCalls: 0, serverCpu: 0, clientCpu: 0 };
  return contentionMetrics({ parts, window: state.window, violations: state.violations, ...nothing });
}

/** A lock in this process, in the order of arrival. */
function mutex() {
  let last = Promise.resolve();
  return {
    async acquire() {
      const before = last;
      let release;
      last = new Promise((resolve) => (release = resolve));
      await before;
      return release;
    },
    async release(release) {
      release();
    },
  };
}

test('the harness detects a lock that excludes no caller', async () => {
  const open = { acquire: async () => ({}), release: async () => sleep(0) };
  assert.ok((await contend(open, { waiters: 4 })).violations > 0);
  assert.ok((await contend(open, { waiters: 2, sectionMs: 1 })).violations > 0);
});

test('the harness detects a lock with two holders', async () => {
  const two = [mutex(), mutex()];
  let count = 0;
  const leaky = {
    async acquire() {
      const which = two[count++ % 2];
      return { which, held: await which.acquire() };
    },
    release: async ({ which, held }) => which.release(held),
  };
  assert.ok((await contend(leaky, { waiters: 4, sectionMs: 1 })).violations > 0);
});

test('threads that share a file detect an overlap, and count waits until the end', async (t) => {
  const sharedByTwo = () => {
    const state = new MappedState();
    const views = [0, 1].map((slot) => new AttachedState({ path: state.path, slot }));
    t.after(() => [...views, state].forEach((each) => each.close()));
    return { state, views };
  };
  const closed = await contend(mutex(), { waiters: 2, sectionMs: 1 }, sharedByTwo());
  assert.equal(closed.violations, 0);
  assert.ok(closed.throughput > 0 && closed.jain > 0.9, `${closed.throughput}, ${closed.jain}`);
  assert.ok(closed.unserved <= 4 && closed.longest < 30_000, `${closed.unserved}, ${closed.longest}`);
  const open = { acquire: async () => ({}), release: async () => sleep(0) };
  assert.ok((await contend(open, { waiters: 1, sectionMs: 1 }, sharedByTwo())).violations > 0);
});

test('commands and waiters of all threads that share a file are summed', (t) => {
  const state = new MappedState();
  const views = [0, 1].map((slot) => new AttachedState({ path: state.path, slot }));
  t.after(() => [...views, state].forEach((each) => each.close()));
  for (const [slot, view] of views.entries()) {
    view.countCommands(slot, 3);
    view.beginWaiting();
  }
  assert.deepEqual([state.commands, state.waiting], [6, 2]);
  views[0].endWaiting();
  assert.equal(state.waiting, 1);
});

test('callers that share a key are found out only if there are too many', async () => {
  const open = { acquire: async () => ({}), release: async () => sleep(0) };
  const terms = { waiters: 3, sectionMs: 1 };
  assert.ok((await contend(open, { ...terms, mode: 'permit', permits: 2 })).violations > 0);
  assert.equal((await contend(open, { ...terms, mode: 'permit', permits: 3 })).violations, 0);
  assert.ok((await contend(open, { ...terms, mode: 'readWrite' })).violations > 0);
  assert.equal((await contend(open, { ...terms, mode: 'read' })).violations, 0);
});

test('callers of many keys are found out if two are in the section of the same key', async () => {
  const open = { acquire: async () => ({}), release: async () => sleep(0) };
  assert.ok((await contend(open, { waiters: 4, keys: 2, sectionMs: 1 })).violations > 0);
  const [locks, names] = [new Map(), new Set()];
  const closed = {
    async acquire(name) {
      names.add(name);
      const lock = locks.get(name) ?? mutex();
      locks.set(name, lock);
      return { lock, held: await lock.acquire() };
    },
    release: async ({ lock, held }) => lock.release(held),
  };
  const metrics = await contend(closed, { waiters: 4, keys: 2 });
  assert.equal(metrics.violations, 0);
  assert.deepEqual([...names].sort(), ['hot:0', 'hot:1']);
  assert.ok(Number.isNaN(metrics.gap));
});

test('a caller asks for what its scenario shares', async () => {
  const asked = [];
  const client = { acquire: async (_key, request) => asked.push(request), release: async () => sleep(0) };
  await contend(client, { waiters: 2, mode: 'readWrite' });
  assert.deepEqual([...new Set(asked.map(({ kind }) => kind))].sort(), ['read', 'write']);
  asked.length = 0;
  await contend(client, { waiters: 1, mode: 'permit', permits: 4 });
  assert.deepEqual(asked[0], { kind: 'permit', permits: 4 });
});

test('a lock that excludes has no violations, is fair, and its gap is small', async () => {
  const metrics = await contend(mutex(), { waiters: 4, sectionMs: 1 });
  assert.equal(metrics.violations, 0);
  assert.ok(metrics.jain > 0.9, `${metrics.jain}`);
  assert.ok(metrics.gap < 1, `${metrics.gap}`);
});

test('a starving caller has waited until the end, and gave up as often as its time-out says', async () => {
  let taken = false;
  const greedy = {
    async acquire() {
      if (!taken) return (taken = true);
      await sleep(5);
      return undefined;
    },
    // Never free again: the first caller returns, and waits like the others.
    release: async () => undefined,
  };
  const metrics = await contend(greedy, { waiters: 3 });
  assert.equal(metrics.violations, 0);
  assert.ok(metrics.gaveUp > 3);
  assert.ok(metrics.longest >= 45, `${metrics.longest}`);
  assert.equal(metrics.unserved, 3);
});

test('medians, fairness and quantiles are right', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(median([NaN, 5]), 5);
  assert.equal(jain([1, 1, 1, 1]), 1);
  assert.equal(jain([1, 0, 0, 0]), 0.25);
  const histogram = new Histogram();
  for (let ms = 1; ms <= 1_000; ms++) histogram.add(ms);
  for (const q of [0.1, 0.5, 0.99]) {
    const error = histogram.quantile(q) / (q * 1_000);
    assert.ok(error > 0.97 && error < 1.03, `${q}: ${error}`);
  }
  assert.equal(histogram.max, 1_000);
  assert.equal(Histogram.merged([histogram, histogram]).count, 2_000);
});

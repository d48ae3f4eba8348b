// Callers want two keys at a time, and how long a wanted key is idle is measured.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import scenario from '../scenarios/pairs.mjs';
import { benchContext } from './bench-context.mjs';

const context = benchContext();

test('two keys for each call are measured, and no section overlaps another one with the same key', async () => {
  const measured = await scenario.measure(context, { keys: 5 }, { warmUp: 300, window: 1_000 });
  for (const [name, value] of Object.entries(measured)) assert.ok(Number.isFinite(value), `${name}: ${value}`);
  assert.equal(measured.overlaps, 0);
  assert.ok(measured.throughput > 0 && measured.idleP50 <= measured.idle);
});

// Holders of one key come and go at a rate, while another client measures its own key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadVariants } from '../libraries/index.mjs';
import scenario from '../scenarios/neighbour.mjs';
import { benchContext } from './bench-context.mjs';

const TIMING = { isQuick: true };

const context = benchContext();

test('only this library is measured, with readers and with permits', async () => {
  const chosen = (await loadVariants()).filter(scenario.includes);
  assert.deepEqual([...new Set(chosen.map(({ library }) => library))], ['ours']);
  assert.equal(scenario.expand(chosen, {}).length, 4);
});

for (const kind of ['readers', 'permits']) {
  test(`${kind} come and hold, and the other key is measured`, async () => {
    const measured = await scenario.measure(context, { kind, sectionMs: 100 }, TIMING);
    for (const [name, value] of Object.entries(measured)) assert.ok(Number.isFinite(value), `${name}: ${value}`);
    assert.ok(measured.came > 100 && measured.held > 10, `${measured.came}, ${measured.held}`);
    assert.ok(measured.oneP50 > 0 && measured.oneP50 <= measured.oneP99);
    assert.ok(measured.ratio > 0 && measured.noise > 0);
  });
}

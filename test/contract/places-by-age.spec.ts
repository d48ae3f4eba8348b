import { expect, it } from '@jest/globals';
import { StagedStore } from '../../lib/testing/contract/stage.js';
import { redisHarness } from './harnesses.js';

/** How the masters of a Redlock treat a request that says how long ago it was made. */
it('one Redis lets a retry fall behind only if it has backed off', async () => {
  const harness = await redisHarness();
  const store = new StagedStore(await harness.store());
  const ask = async (name: string, details: { age?: number; backedOff?: boolean }) => {
    const reply = store.port.acquire({ ...store.request('k', details), id: `${store.port.clientId}:${name}` });
    await harness.sleep(5);
    return (await reply).outcome;
  };
  const waiting = async () => (await harness.truth('k')).waiting.map((id) => id.slice(33));
  try {
    expect(await ask('holder', {})).toBe('held');
    await ask('first', { age: 100 });
    await ask('second', { age: 95 });
    expect(await waiting()).toEqual(['first', 'second']);
    // The way took long.
    await ask('first', { age: 0 });
    expect(await waiting()).toEqual(['first', 'second']);
    await ask('first', { age: 50, backedOff: true });
    expect(await waiting()).toEqual(['second', 'first']);
    // It was older than had been thought.
    await ask('first', { age: 10_000, backedOff: true });
    expect(await waiting()).toEqual(['first', 'second']);
  } finally {
    await store.port.close();
    await harness.stop();
  }
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockStoreHarness } from 'nestjs-redis-locks/testing';
import { StagedStore } from '../../lib/testing/contract/stage.js';
import { redisHarness } from './harnesses.js';

/** More waiters and holders than one command reads. */
const MANY = 300;

describe('one Redis', () => {
  let harness!: LockStoreHarness;
  let store!: StagedStore;
  beforeAll(async () => {
    harness = await redisHarness();
    store = new StagedStore(await harness.store());
  });
  afterAll(async () => {
    await store.port.close();
    await harness.stop();
  });

  it('returns all waiters in order, once each, or as many as were asked for', async () => {
    const holder = store.request('queue');
    expect(await store.port.acquire(holder)).toMatchObject({ outcome: 'held' });
    const requests = Array.from({ length: MANY }, () => store.request('queue', { fair: true }));
    for (const reply of await Promise.all(requests.map((request) => store.port.acquire(request))))
      expect(reply).toMatchObject({ outcome: 'queued' });
    const ids = requests.map(({ id }) => id);
    for (const count of [undefined, MANY, 257, 255, 129, 128, 127, 1]) {
      const { waiters, holds } = await store.port.inspect('queue', count);
      expect(waiters.slice(0, count).map(({ id }) => id)).toEqual(ids.slice(0, count));
      expect(holds.map(({ id }) => id)).toEqual([holder.id]);
    }
  });

  it('returns all holds beside all waiters', async () => {
    const readers = Array.from({ length: MANY }, () => store.request('both', { mode: { kind: 'read' } }));
    const writers = Array.from({ length: MANY }, () => store.request('both'));
    for (const reader of readers) expect(await store.port.acquire(reader)).toMatchObject({ outcome: 'held' });
    for (const writer of writers) expect(await store.port.acquire(writer)).toMatchObject({ outcome: 'queued' });
    const { holds, waiters } = await store.port.inspect('both');
    expect(holds.map(({ id }) => id).sort()).toEqual(readers.map(({ id }) => id).sort());
    expect(waiters.map(({ id }) => id)).toEqual(writers.map(({ id }) => id));
  });
});

import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { createLockClient } from 'nestjs-redis-locks/client';
import type { LockStoreHarness } from 'nestjs-redis-locks/testing';
import { describeContract } from './describe-contract.js';
import { ProcessStore } from './process-store/process-store.js';

const SERVER = fileURLToPath(new URL('process-store/server.mjs', import.meta.url));
const logger = { debug() {}, log() {}, warn() {}, error() {} };

async function processHarness(): Promise<LockStoreHarness> {
  const server = fork(SERVER);
  const [{ port }] = (await once(server, 'message')) as [AddressInfo];
  const observer = await ProcessStore.open(port);
  return {
    client: async (options) => {
      const store = await ProcessStore.open(port);
      return createLockClient({ ...options, store: () => store }, { logger });
    },
    store: async () => {
      const store = await ProcessStore.open(port);
      await store.start();
      return store;
    },
    truth: async (key) => {
      const { holds, waiters } = await observer.inspect(key);
      return { holds: holds.map(({ id, ttl }) => ({ id, left: ttl })), waiting: waiters.map(({ id }) => id) };
    },
    sleep: (ms) => sleep(ms, undefined),
    now: () => performance.now(),
    stop: async () => {
      await observer.close();
      server.kill();
    },
  };
}

describeContract('a store of a user, which keeps its locks in another process', processHarness, { deliversOnce: true });

describe('the process of such a store', () => {
  it('lists its locks', async () => {
    const harness = await processHarness();
    const client = await harness.client({ shutdownTimeout: 0 });
    await client.acquire('listed');
    const keys: string[] = [];
    for await (const { key } of client.list()) keys.push(key);
    expect(keys).toEqual(['listed']);
    await client.close();
    await harness.stop();
  });

  it('tells holders and callers that its process is gone', async () => {
    const other = fork(SERVER);
    const [address] = (await once(other, 'message')) as [AddressInfo];
    const store = await ProcessStore.open(address.port);
    const client = await createLockClient({ store: () => store, shutdownTimeout: 0 }, { logger });
    const lock = await client.acquire('a', { expire: '500ms' });
    other.kill('SIGKILL');
    await once(other, 'exit');
    await expect(client.acquire('b')).rejects.toMatchObject({ code: 'LOCK_STORE', transient: true });
    await expect(lock.verify()).rejects.toMatchObject({ code: expect.stringMatching(/LOCK_(STORE|LOST)/) });
    await client.close();
    expect(lock.isHeld).toBe(false);
  });
});

import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { lockStoreContract, type LockStoreHarness } from 'nestjs-redis-locks/testing';
import { clusterHarness } from './harnesses.js';

describe('a Cluster', () => {
  let harness!: LockStoreHarness;
  beforeAll(async () => {
    harness = await clusterHarness();
  });
  afterAll(() => harness.stop());

  const later: LockStoreHarness = {
    client: (options) => harness.client(options),
    store: () => harness.store(),
    truth: (key) => harness.truth(key),
    sleep: (ms) => harness.sleep(ms),
    now: () => harness.now(),
    stop: () => harness.stop(),
    get absenceNoticedAfter() {
      return harness.absenceNoticedAfter;
    },
  };
  for (const { name, run } of lockStoreContract(later)) it(name, run);
});

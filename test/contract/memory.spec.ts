import { describe, it } from '@jest/globals';
import { lockStoreContract } from 'nestjs-redis-locks/testing';
import { memoryHarness } from './harnesses.js';

describe('the memory store', () => {
  const harness = memoryHarness();
  for (const { name, run } of lockStoreContract(harness)) it(name, run);
});

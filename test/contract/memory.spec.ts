import { lockStoreContract } from 'nestjs-redis-locks/testing';
import { copyingHarness, memoryHarness } from './harnesses.js';

describe.each([
  ['the memory store', memoryHarness],
  ['a store that is reached by messages', copyingHarness],
])('%s', (_name, start) => {
  const harness = start();
  for (const { name, run } of lockStoreContract(harness)) it(name, run);
});

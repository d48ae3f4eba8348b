import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { buildMutant } from '../../lab/chaos/mutant.mjs';
import { MUTATIONS } from '../../lab/chaos/mutations.mjs';
import { moduleOf } from '../../lab/mutations/mutate.mjs';

it('the library with a mutation differs, and says so when it is loaded', async () => {
  const [mutation] = MUTATIONS;
  const mutant = await buildMutant(mutation);
  try {
    const file = moduleOf(mutation!).slice('lib/'.length, -'ts'.length) + 'js';
    expect(readFileSync(new URL(file, mutant.url), 'utf8')).toContain(`globalThis.locksMutation = '${mutation!.name}'`);
  } finally {
    mutant.remove();
  }
});

it('a mutation that changes nothing is refused', async () => {
  const [mutation] = MUTATIONS;
  await expect(buildMutant({ ...mutation!, to: mutation!.from })).rejects.toThrow('changes nothing');
  await expect(buildMutant({ ...mutation!, from: 'what stands nowhere' })).rejects.toThrow('occurs 0 times');
});

import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { moduleOf, mutate, mutatedModule } from '../../../lab/mutations/mutate.mjs';
import { SPEC_MUTATIONS } from '../../../lab/mutations/specs.mjs';

const ROOT = new URL('../../../', import.meta.url);

it.each(SPEC_MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
  'the mutation %s can be tried: the text to replace occurs once, and the spec exists',
  (_, mutation) => {
    expect(mutatedModule(mutation)).not.toBe(readFileSync(new URL(moduleOf(mutation), ROOT), 'utf8'));
    expect(existsSync(new URL(mutation.spec, ROOT))).toBe(true);
  },
);

it('a mutation is refused if the text to replace occurs twice, or not at all', () => {
  const mutation = { name: 'wrong', from: 'a', to: 'b' };
  expect(mutate('a c', mutation)).toBe('b c');
  expect(() => mutate('a a', mutation)).toThrow("mutation 'wrong': the text to replace occurs 2 times");
  expect(() => mutate('c', mutation)).toThrow("mutation 'wrong': the text to replace occurs 0 times");
});

import { existsSync, readFileSync } from 'node:fs';
import { BREAKAGES, OF_CHAOS, OF_SIMULATION, OF_SPECS } from '../../../lab/mutations/list.mjs';
import { lockStoreContract, type LockStoreHarness } from 'nestjs-redis-locks/testing';
import { mutate, type Mutation } from '../../../lab/mutations/mutate.mjs';

const ROOT = new URL('../../../', import.meta.url);

const ALL: readonly Mutation[] = [...OF_SPECS, ...OF_SIMULATION, ...BREAKAGES, ...OF_CHAOS];

it.each(ALL.map((mutation) => [mutation.name, mutation] as const))(
  'the mutation %s can be tried: the text to replace occurs once',
  (_, mutation) => {
    const text = readFileSync(new URL(mutation.file, ROOT), 'utf8');
    expect(mutate(text, mutation)).not.toBe(text);
  },
);

it('the specs that find mutations exist', () => {
  const specs = OF_SPECS.map(({ spec }) => spec);
  expect(specs.filter((spec) => !existsSync(new URL(spec, ROOT)))).toEqual([]);
});

it('the tests that find mutations exist', () => {
  const cases = lockStoreContract({} as LockStoreHarness).map(({ name }) => name);
  const textOf = (spec: string): string => [readFileSync(new URL(spec, ROOT), 'utf8'), ...cases].join('\n');
  const missing = OF_SPECS.filter(({ spec, test = '' }) => !textOf(spec).includes(test));
  expect(missing.map(({ name, test }) => `${name}: ${test}`)).toEqual([]);
});

const mutateText = (text: string, from: string, file = 'a.ts'): string =>
  mutate(text, { name: 'wrong', file, from, to: 'b' });

it('a mutation is refused if the text to replace occurs twice, or not at all', () => {
  expect(mutateText('a c', 'a')).toBe('b c');
  expect(() => mutateText('a a', 'a')).toThrow("mutation 'wrong': the text to replace occurs 2 times");
  expect(() => mutateText('c ab', 'a')).toThrow("mutation 'wrong': the text to replace occurs 0 times");
  expect(() => mutateText('c', '')).toThrow("mutation 'wrong': the text to replace occurs 0 times");
});

it.each([
  ['line breaks and trailing commas', 'x;\nf(\n  one,\n  "two",\n);\ny;', "f(one, 'two');", 'a.ts', 'x;\nb\ny;'],
  ['comments', 'f(one, // why\n  /* and\n  how */ two); y', 'f(one, two);', 'a.ts', 'b y'],
  ['comments of Lua', 'if a -- why\n  and --[[ how ]] c then return end', 'if a and c then', 'a.lua', 'b return end'],
])('a mutation is found whatever the format: %s', (_, text, from, file, expected) => {
  expect(mutateText(text, from, file)).toBe(expected);
});

it('words are compared as a whole', () => {
  expect(() => mutateText('returned x', 'return')).toThrow('occurs 0 times');
  expect(() => mutateText('return x', 'returnx')).toThrow('occurs 0 times');
});

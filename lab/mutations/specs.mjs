import { readMutations } from './list.mjs';

/**
 * A mutation that a spec finds: of a part that neither the simulation nor chaos runs, or that they meet rarely. `test` is a
 * pattern for the names of the tests to run (all of the spec).
 * @typedef {import('./mutate.mjs').Mutation & { readonly spec: string, readonly test?: string }} SpecMutation
 */

/** @type {readonly SpecMutation[]} */
export const SPEC_MUTATIONS = readMutations(new URL('specs.diff', import.meta.url)).map(({ finder, ...mutation }) => {
  const [spec, test] = finder.split(': ');
  return { ...mutation, spec, test };
});

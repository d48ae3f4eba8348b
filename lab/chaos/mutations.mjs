import { readMutations } from '../mutations/list.mjs';

/**
 * A mutation that chaos finds on a topology. `only`: the kinds of fault that the line handles, default all.
 * @typedef {import('../mutations/mutate.mjs').Mutation & { topology: string, only?: string[] }} ChaosMutation
 */

/** @type {readonly ChaosMutation[]} */
export const MUTATIONS = readMutations(new URL('mutations.diff', import.meta.url)).map(({ finder, ...mutation }) => {
  const [topology, faults] = finder.split(': ');
  return { ...mutation, topology, only: faults?.split(', ') };
});

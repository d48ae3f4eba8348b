import { readFileSync } from 'node:fs';

/**
 * Reads a list of mutations. A heading (`# lua/renew.lua`) names the file that the mutations below it change. Each mutation is
 * a paragraph: its name and what then happens, behind `?` what finds it, behind `-` the code to replace, behind `+` its
 * replacement.
 * @param {string} path from this file
 * @returns {Array<import('./mutate.mjs').Mutation & { readonly finder: string }>}
 */
function readMutations(path) {
  let file = '';
  const paragraphs = readFileSync(new URL(path, import.meta.url), 'utf8')
    .trim()
    .split(/\n{2,}/);
  return paragraphs.flatMap((paragraph) => {
    const [head = '', ...lines] = paragraph.split('\n');
    if (head.startsWith('# ')) {
      file = head.slice(2);
      return [];
    }
    const [name = '', ...what] = head.split(': ');
    const behind = (/** @type {string} */ sign) =>
      lines.flatMap((line) => (line.startsWith(`${sign} `) ? [line.slice(2)] : [])).join('\n');
    return [{ name, what: what.join(': '), file, finder: behind('?'), from: behind('-'), to: behind('+') }];
  });
}

/** This variable tells a process to run the library as it is written, with this mutation if it is not empty. */
export const MUTATION_VARIABLE = 'LOCKS_MUTATION';

/** The file that has the mutation says under this global name which one it is. */
export const MUTATION = 'locksMutation';

const ofSimulation = readMutations('../simulation/mutations.diff');
const isOfLibrary = (/** @type {{ file: string }} */ { file }) => !file.startsWith('lab/');

/** Mutations of the simulation itself: such a run has to fail with its seed and the reason, and not to hang. */
export const BREAKAGES = ofSimulation.filter((mutation) => !isOfLibrary(mutation));

/** Mutations that the simulation finds. */
export const OF_SIMULATION = ofSimulation.filter(isOfLibrary);

/**
 * A mutation that a spec finds: of a part that neither the simulation nor chaos runs, or that they meet rarely. `test` is a
 * pattern for the names of the tests to run (all of the spec).
 * @typedef {import('./mutate.mjs').Mutation & { readonly spec: string, readonly test?: string }} SpecMutation
 */

/** @type {readonly SpecMutation[]} */
export const OF_SPECS = readMutations('specs.diff').map(({ finder, ...mutation }) => {
  const [spec, test] = finder.split(': ');
  return { ...mutation, spec, test };
});

/**
 * A mutation that chaos finds on a topology. `only`: the kinds of fault that the line handles, default all.
 * @typedef {import('./mutate.mjs').Mutation & { topology: string, only?: string[] }} ChaosMutation
 */

/** @type {readonly ChaosMutation[]} */
export const OF_CHAOS = readMutations('../chaos/mutations.diff').map(({ finder, ...mutation }) => {
  const [topology, faults] = finder.split(': ');
  return { ...mutation, topology, only: faults?.split(', ') };
});

/** A mutation of a laboratory that runs the library in processes of its own. */
export const findMutation = (/** @type {string} */ name) =>
  [...ofSimulation, ...OF_CHAOS].find((mutation) => mutation.name === name);

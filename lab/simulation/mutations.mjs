import { readMutations } from '../mutations/list.mjs';

/** This variable tells a process which mutation of the library to load. */
export const MUTATION_VARIABLE = 'SIMULATION_MUTATION';

const ALL = readMutations(new URL('mutations.diff', import.meta.url));
const isOwn = (/** @type {{ file: string }} */ { file }) => file.startsWith('lab/');

/** Lines of the library, and the replacement of each, to see whether the simulation detects it. */
export const MUTATIONS = ALL.filter((mutation) => !isOwn(mutation));

/** Mutations of the simulation itself: such a run has to fail with its seed and the reason, and not to hang. */
export const BREAKAGES = ALL.filter(isOwn);

/** @param {string} name */
export const findMutation = (name) => ALL.find((mutation) => mutation.name === name);

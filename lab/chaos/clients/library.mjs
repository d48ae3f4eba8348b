import { register } from 'node:module';
import { MUTATIONS } from '../mutations.mjs';
import { MUTATION, MUTATION_VARIABLE } from './mutation.mjs';

const name = process.env[MUTATION_VARIABLE];
if (name !== undefined) {
  const mutation = MUTATIONS.find((each) => each.name === name);
  register('../../simulation/typescript/hooks.mjs', import.meta.url, { data: { mutation, mark: MUTATION } });
}
const [directory, extension] = name === undefined ? ['dist/esm', 'js'] : ['lib', 'ts'];
const load = (module) => import(new URL(`../../../${directory}/${module}.${extension}`, import.meta.url).href);

const { redisson } = await load('redisson/index');
const library = await load('module/redis-lock.options');

export const { createLockService } = await load('module/redis-lock.composition');

/** Resolves the options of a module, as processes send them to each other: `protocol` is the name of one. */
export const resolveModuleOptions = ({ protocol, ...options }) =>
  library.resolveModuleOptions({ ...options, ...(protocol === 'redisson' && { protocol: redisson() }) });

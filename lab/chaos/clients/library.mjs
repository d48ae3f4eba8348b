import { MUTATION_VARIABLE } from '../../mutations/list.mjs';

const isAsWritten = process.env[MUTATION_VARIABLE] !== undefined;
if (isAsWritten) await import('../../simulation/typescript/register.mjs');
const [directory, extension] = isAsWritten ? ['lib', 'ts'] : ['dist/esm', 'js'];
const load = (module) => import(new URL(`../../../${directory}/${module}.${extension}`, import.meta.url).href);

const { redisson } = await load('redisson/index');
const library = await load('module/redis-lock.options');

export const { createLockService } = await load('module/redis-lock.composition');

/** Resolves the options of a module, as processes send them to each other: `protocol` is the name of one. */
export const resolveModuleOptions = ({ protocol, ...options }) =>
  library.resolveModuleOptions({ ...options, ...(protocol === 'redisson' && { protocol: redisson() }) });

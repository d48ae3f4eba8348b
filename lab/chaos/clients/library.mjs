import { LIBRARY_VARIABLE } from './mutation.mjs';

const directory = new URL(process.env[LIBRARY_VARIABLE] ?? '../../../dist/esm/', import.meta.url);

const { redisson } = await import(new URL('redisson/index.js', directory).href);
const library = await import(new URL('module/redis-lock.options.js', directory).href);

export const { createLockService } = await import(new URL('module/redis-lock.composition.js', directory).href);

/** Resolves the options of a module, as processes send them to each other: `protocol` is the name of one. */
export const resolveModuleOptions = ({ protocol, ...options }) =>
  library.resolveModuleOptions({ ...options, ...(protocol === 'redisson' && { protocol: redisson() }) });

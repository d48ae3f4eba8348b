/** In this variable processes are told from which directory to load the library; without it they load what is built. */
export const LIBRARY_VARIABLE = 'CHAOS_LIBRARY';

const directory = new URL(process.env[LIBRARY_VARIABLE] ?? '../../dist/esm/', import.meta.url);

export const { createLockService } = await import(new URL('module/redis-lock.composition.js', directory).href);
export const { resolveModuleOptions } = await import(new URL('module/redis-lock.options.js', directory).href);

import { LIBRARY_VARIABLE } from './mutation.mjs';

const directory = new URL(process.env[LIBRARY_VARIABLE] ?? '../../dist/esm/', import.meta.url);

export const { createLockService } = await import(new URL('module/redis-lock.composition.js', directory).href);
export const { resolveModuleOptions } = await import(new URL('module/redis-lock.options.js', directory).href);

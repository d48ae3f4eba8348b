export * from './eventually.mjs';

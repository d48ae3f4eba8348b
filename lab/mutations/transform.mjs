import { readFileSync } from 'node:fs';
import swc from '@swc/jest';

/** A transformer of Jest that reads one file from another place: the one with a mutation. */
export default {
  createTransformer({ file, mutated, ...options }) {
    const plain = swc.createTransformer(options);
    const text = readFileSync(mutated, 'utf8');
    const textOf = (source, path) => (path === file ? text : source);
    return {
      ...plain,
      process: (source, path, terms) => plain.process(textOf(source, path), path, terms),
      processAsync: (source, path, terms) => plain.processAsync(textOf(source, path), path, terms),
      getCacheKey: (source, path, terms) => plain.getCacheKey(textOf(source, path), path, terms),
    };
  },
};

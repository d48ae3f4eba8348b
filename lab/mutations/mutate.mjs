import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from '../../scripts/generate-lua.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';

/**
 * A place in the library, and its replacement.
 * @typedef {object} Mutation
 * @property {string} name
 * @property {string} what for people: how the library then behaves
 * @property {string} file from the project's root
 * @property {string} from text that occurs there once
 * @property {string} to
 */

/** The folders of scripts, and the module that each is compiled into. The last one contains the others. */
const SCRIPTS = { 'lua/redisson': 'lib/redisson/scripts.generated.ts', lua: 'lib/store/redis/scripts.generated.ts' };

const folderOf = (file) => Object.keys(SCRIPTS).find((folder) => file.startsWith(`${folder}/`));

/**
 * The text of a file with one mutation applied.
 * @param {string} text
 * @param {Pick<Mutation, 'name' | 'from' | 'to'>} mutation
 * @returns {string}
 * @throws Error if the text to replace does not occur exactly once
 */
export function mutate(text, { name, from, to }) {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`mutation '${name}': the text to replace occurs ${parts.length - 1} times`);
  return parts.join(to);
}

/**
 * The TypeScript file that changes with a mutation: the scripts are compiled into one for each store.
 * @param {Mutation} mutation
 * @returns {string}
 */
export const moduleOf = ({ file }) => (file.endsWith('.lua') ? SCRIPTS[folderOf(file)] : file);

/**
 * The text of `moduleOf` with a mutation applied.
 * @param {Mutation} mutation
 * @returns {string}
 */
export function mutatedModule(mutation) {
  const { file } = mutation;
  if (!file.endsWith('.lua')) return mutate(readFileSync(join(ROOT, file), 'utf8'), mutation);
  return withLua([mutation], (directory) => generate(join(directory, folderOf(file))));
}

/**
 * Copies `lua/` with mutations applied.
 * @template T
 * @param {ReadonlyArray<Pick<Mutation, 'name' | 'file' | 'from' | 'to'>>} mutations
 * @param {(directory: string) => T} use gets the folder that has the copy
 * @returns {T}
 */
export function withLua(mutations, use) {
  const directory = mkdtempSync(join(tmpdir(), 'locks-mutated-'));
  try {
    cpSync(join(ROOT, 'lua'), join(directory, 'lua'), { recursive: true });
    for (const mutation of mutations) {
      const path = join(directory, mutation.file);
      writeFileSync(path, mutate(readFileSync(path, 'utf8'), mutation));
    }
    return use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

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
 * @property {string} from code that occurs there once, in any format
 * @property {string} to
 */

/** The folders of scripts, and the module that each is compiled into. The last one contains the others. */
const SCRIPTS = { 'lua/redisson': 'lib/redisson/scripts.generated.ts', lua: 'lib/store/redis/scripts.generated.ts' };

const folderOf = (file) => Object.keys(SCRIPTS).find((folder) => file.startsWith(`${folder}/`));

/** Comments and white space of a language; then a word, or one character of anything else. */
const TOKENS = {
  lua: /(?:--\[\[[^]*?\]\]|--[^\n]*|\s)+|([\w$]+|[^])/g,
  ts: /(?:\/\*[^]*?\*\/|\/\/[^\n]*|\s)+|([\w$]+|[^])/g,
};

/**
 * The tokens of a text and their places, without what a formatter adds: comments, white space, the kind of quotes and
 * commas before a closing bracket.
 */
function tokensOf(text, language) {
  const tokens = [];
  for (const { 1: token, index } of text.matchAll(TOKENS[language])) {
    if (token === undefined) continue;
    if (tokens.at(-1)?.token === ',' && ')]}'.includes(token)) tokens.pop();
    tokens.push({ token: token === '"' ? "'" : token, start: index, end: index + token.length });
  }
  return tokens;
}

/**
 * The text of a file with one mutation applied. `from` is compared token by token, so another format of the file is no
 * other text.
 * @param {string} text
 * @param {Pick<Mutation, 'name' | 'file' | 'from' | 'to'>} mutation
 * @returns {string}
 * @throws Error if the text to replace does not occur exactly once
 */
export function mutate(text, { name, file, from, to }) {
  const language = file.endsWith('.lua') ? 'lua' : 'ts';
  const tokens = tokensOf(text, language);
  const wanted = tokensOf(from, language);
  const isAt = (place) => wanted.every(({ token }, i) => tokens[place + i]?.token === token);
  const places = wanted.length === 0 ? [] : [...tokens.keys()].filter(isAt);
  if (places.length !== 1) throw new Error(`mutation '${name}': the text to replace occurs ${places.length} times`);
  const [place] = places;
  return text.slice(0, tokens[place].start) + to + text.slice(tokens[place + wanted.length - 1].end);
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

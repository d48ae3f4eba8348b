import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import { includesOf, stripComments } from '../../../scripts/lib/lua-source.mjs';

const LUA = join(import.meta.dirname, '../../../lua');
const FILES = readdirSync(LUA, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.lua'));

const WORD = /[A-Za-z_]\w*/g;
const wordsOf = (text: string): string[] => text.match(WORD) ?? [];
const codeOf = (file: string): string =>
  stripComments(readFileSync(join(LUA, file), 'utf8')).replace(/'[^'\n]*'/g, "''");

/** The names that a file gives to the files that include it. */
function namesOf(file: string): string[] {
  return codeOf(file)
    .split('\n')
    .flatMap((line) => {
      const [, name, names] = /^local (?:function (\w+)|([\w, ]+?)(?: =|$))/.exec(line) ?? [];
      return name ?? (names === undefined ? [] : wordsOf(names));
    });
}

/** The names that a file gives itself anywhere: local variables, parameters, fields. */
function ownNames(file: string): Set<string> {
  const code = codeOf(file);
  const lists = [
    ...code.matchAll(/\blocal (?:function )?([\w, ]+)/g),
    ...code.matchAll(/\bfunction \w*\(([\w, .]*)\)/g),
    ...code.matchAll(/\bfor ([\w, ]+) (?:in|=)/g),
  ].flatMap(([, list]) => wordsOf(list!));
  return new Set(lists);
}

/** The directory of scripts that a file belongs to. Its parts are in `shared` there. */
const homeOf = (file: string): string => (file.startsWith('redisson/') ? 'redisson/' : '');

/** The names that each shared file of a directory of scripts gives to the files that include it. */
function partsOf(home: string): Map<string, string[]> {
  const parts = FILES.filter((file) => file.startsWith(`${home}shared/`));
  return new Map(parts.map((file) => [file, namesOf(file)]));
}

describe('the Lua files', () => {
  it.each(FILES)('%s includes the parts whose names it uses, and no others', (file) => {
    const own = ownNames(file);
    const used = wordsOf(codeOf(file).replace(/\.\w+/g, ''));
    const home = homeOf(file);
    const needed = [...partsOf(home)].flatMap(([part, names]) =>
      part !== file && names.some((name) => !own.has(name) && used.includes(name))
        ? [part.slice(home.length).replace(/\.lua$/, '')]
        : [],
    );
    expect([...new Set(includesOf(join(LUA, home), file.slice(home.length)))].sort()).toEqual(needed.sort());
  });

  it.each(['', 'redisson/'])('no two parts in lua/%sshared define the same name', (home) => {
    const names = [...partsOf(home).values()].flat();
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });
});

describe('the generated scripts', () => {
  it.each(Object.values(SCRIPTS))('$name has each variable once, even if functions are in blocks', ({ source }) => {
    const variables = [...source.matchAll(/^ *local (cached|now), /gm)].map(([, name]) => name);
    expect(variables).toEqual([...new Set(variables)]);
  });

  it('the module holds each part once', () => {
    const module = readFileSync(join(import.meta.dirname, '../../../lib/store/redis/scripts.generated.ts'), 'utf8');
    const texts = [...module.matchAll(/^ {2}`((?:\\.|[^`\\])*)`,$/gm)].map(([, text]) => text);
    expect(texts.length).toBeGreaterThan(30);
    expect(texts.filter((text, i) => texts.indexOf(text) !== i)).toEqual([]);
  });
});

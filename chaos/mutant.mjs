import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from '@swc/core';
import { generate } from '../scripts/generate-lua.mjs';
import { ROOT } from '../scripts/lib/paths.mjs';
import { MUTATION } from './clients/mutation.mjs';
import { mutate } from './mutations.mjs';

const SCRIPTS = 'lib/store/redis/scripts.generated.ts';

/**
 * Makes a copy of the library that Node can load, with a mutation in it if there is one; answers its URL, and how it is
 * removed. The file that has the mutation says so when it is loaded.
 * @throws Error where the compiled output is the same with the mutation and without
 * @param {import('./mutations.mjs').Mutation | undefined} mutation
 * @returns {Promise<{ url: string, remove(): void }>}
 */
export async function buildMutant(mutation) {
  const directory = mkdtempSync(join(tmpdir(), 'locks-mutant-'));
  try {
    for (const part of ['lib', 'lua']) cpSync(join(ROOT, part), join(directory, 'source', part), { recursive: true });
    const source = join(directory, 'source');
    const library = join(directory, 'library');
    writeFileSync(join(source, SCRIPTS), generate(join(source, 'lua')));
    if (mutation !== undefined) await plant(mutation, source);
    await compile(join(source, 'lib'), library);
    writeFileSync(join(library, 'package.json'), '{ "type": "module" }\n');
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    return {
      url: pathToFileURL(`${library}/`).href,
      remove: () => rmSync(directory, { recursive: true, force: true }),
    };
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

async function plant(mutation, source) {
  const file = join(source, mutation.file);
  // Scripts are loaded as a part of this one.
  const loaded = join(source, mutation.file.endsWith('.lua') ? SCRIPTS : mutation.file);
  const before = await compiled(readFileSync(loaded, 'utf8'), loaded);
  writeFileSync(file, mutate(readFileSync(file, 'utf8'), mutation));
  if (loaded !== file) writeFileSync(loaded, generate(join(source, 'lua')));
  const text = readFileSync(loaded, 'utf8');
  const after = await compiled(text, loaded);
  if (after === before) throw new Error(`mutation '${mutation.name}' changes nothing in what is compiled`);
  writeFileSync(loaded, `${text}\n(globalThis as any).${MUTATION} = '${mutation.name}';\n`);
}

async function compile(source, target) {
  const names = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.ts'));
  await Promise.all(
    names.map(async (name) => {
      const file = join(target, name.replace(/\.ts$/, '.js'));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, await compiled(readFileSync(join(source, name), 'utf8'), name));
    }),
  );
}

async function compiled(text, filename) {
  const { code } = await transform(text, {
    filename,
    swcrc: false,
    jsc: {
      target: 'es2022',
      keepClassNames: true,
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
    },
    module: { type: 'es6' },
  });
  return code;
}

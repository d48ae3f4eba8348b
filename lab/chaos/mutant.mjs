import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from '@swc/core';
import { moduleOf, mutatedModule } from '../mutations/mutate.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { MUTATION } from './clients/mutation.mjs';

/**
 * Makes a copy of the library that Node can load, with a mutation in it if there is one; answers its URL, and how it is
 * removed. The file that has the mutation says so when it is loaded.
 * @throws Error where the compiled output is the same with the mutation and without
 * @param {import('./mutations.mjs').ChaosMutation | undefined} mutation
 * @returns {Promise<{ url: string, remove(): void }>}
 */
export async function buildMutant(mutation) {
  const directory = mkdtempSync(join(tmpdir(), 'locks-mutant-'));
  try {
    const source = join(directory, 'source');
    const library = join(directory, 'library');
    cpSync(join(ROOT, 'lib'), source, { recursive: true });
    if (mutation !== undefined) await plant(mutation, source);
    await compile(source, library);
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
  const path = moduleOf(mutation);
  const text = mutatedModule(mutation);
  const before = await compiled(readFileSync(join(ROOT, path), 'utf8'), path);
  if ((await compiled(text, path)) === before)
    throw new Error(`mutation '${mutation.name}' changes nothing in what is compiled`);
  writeFileSync(
    join(source, path.slice('lib/'.length)),
    `${text}\n(globalThis as any).${MUTATION} = '${mutation.name}';\n`,
  );
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

/** The compiled modules by name and text: mutants differ in one of them. */
const modules = new Map();

function compiled(text, filename) {
  const key = `${filename}\n${text}`;
  const module = modules.get(key) ?? transpile(text, filename);
  modules.set(key, module);
  return module;
}

async function transpile(text, filename) {
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

import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from '@swc/core';
import { generate } from '../scripts/generate-lua.mjs';
import { ROOT } from '../scripts/lib/paths.mjs';
import { mutate } from './mutations.mjs';

const SCRIPTS = 'lib/store/redis/scripts.generated.ts';

/** Makes a copy of the library with a mutation in it that Node can load; answers its URL, and how it is removed. */
export async function buildMutant(mutation) {
  const directory = mkdtempSync(join(tmpdir(), 'locks-mutant-'));
  try {
    for (const part of ['lib', 'lua']) cpSync(join(ROOT, part), join(directory, 'source', part), { recursive: true });
    const file = join(directory, 'source', mutation.file);
    writeFileSync(file, mutate(readFileSync(file, 'utf8'), mutation));
    writeFileSync(join(directory, 'source', SCRIPTS), generate(join(directory, 'source/lua')));
    const library = join(directory, 'library');
    await compile(join(directory, 'source/lib'), library);
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

async function compile(source, target) {
  const names = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.ts'));
  await Promise.all(
    names.map(async (name) => {
      const { code } = await transform(readFileSync(join(source, name), 'utf8'), {
        filename: name,
        swcrc: false,
        jsc: {
          target: 'es2022',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
        },
        module: { type: 'es6' },
      });
      const file = join(target, name.replace(/\.ts$/, '.js'));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, code);
    }),
  );
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transform } from '@swc/core';
import { MUTATION } from '../../mutations/list.mjs';
import { moduleOf, mutatedModule } from '../../mutations/mutate.mjs';
import { ROOT } from '../../../scripts/lib/paths.mjs';

let mutation;
let mutated;

export function initialize(data) {
  ({ mutation } = data);
  mutated = mutation && pathToFileURL(join(ROOT, moduleOf(mutation))).href;
}

/** `./x.js` in our TypeScript means `./x.ts`. */
export function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts')) {
    const url = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(url)) return { url: url.href, shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const text =
    url === mutated
      ? `${mutatedModule(mutation)}\n(globalThis as any).${MUTATION} = '${mutation.name}';`
      : readFileSync(new URL(url), 'utf8');
  const { code } = await transform(text, {
    filename: fileURLToPath(url),
    swcrc: false,
    sourceMaps: 'inline',
    jsc: {
      ...{ target: 'es2022', keepClassNames: true, parser: { syntax: 'typescript', decorators: true } },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
    module: { type: 'es6' },
  });
  return { format: 'module', source: code, shortCircuit: true };
}

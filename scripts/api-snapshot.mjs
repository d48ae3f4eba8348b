import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ROOT } from './lib/paths.mjs';

const subpath = (name, room = name) => ({
  entry: join(ROOT, `dist/esm/${room}/index.d.ts`),
  file: join(ROOT, `docs/api-${name}.d.ts`),
});

/** The public API as it was agreed on: every export with its declaration, without comments. */
export const SNAPSHOTS = {
  index: { entry: join(ROOT, 'dist/esm/index.d.ts'), file: join(ROOT, 'docs/api.d.ts') },
  testing: subpath('testing'),
  metrics: subpath('metrics', 'observation/metrics'),
  health: subpath('health', 'observation/health'),
  dashboard: subpath('dashboard'),
};

const HEADER = '// The public API; npm run generate:api writes it, and a test compares it with what is built.\n';

/** The declarations of everything that an entry of the built package exports, in the order of its index. */
export function describeApi(name = 'index') {
  const { entry } = SNAPSHOTS[name];
  const program = ts.createProgram([entry], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const index = checker.getSymbolAtLocation(program.getSourceFile(entry));
  const printer = ts.createPrinter({ removeComments: true });
  const texts = checker.getExportsOfModule(index).flatMap((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return (target.declarations ?? []).map((node) => {
      const declaration = ts.isVariableDeclaration(node) ? node.parent.parent : node;
      const text = printer.printNode(ts.EmitHint.Unspecified, declaration, declaration.getSourceFile());
      return text.replace(/^ +private .*\n/gm, '');
    });
  });
  return `${HEADER}\n${texts.join('\n\n')}\n`;
}

export const readSnapshot = (name = 'index') => readFileSync(SNAPSHOTS[name].file, 'utf8');

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [name, { file }] of Object.entries(SNAPSHOTS)) writeFileSync(file, describeApi(name));
}

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ENTRY_POINTS } from './lib/entries.mjs';
import { ROOT } from './lib/paths.mjs';

/** @typedef {'index' | 'testing' | 'metrics' | 'health' | 'dashboard'} EntryName */

const NAMES = ['index', 'testing', 'metrics', 'health', 'dashboard'];

/**
 * The public API as it was agreed on: every export with its declaration, without comments.
 * @type {Record<EntryName, { entry: string, file: string }>}
 */
export const SNAPSHOTS = Object.fromEntries(
  NAMES.map((name) => {
    const path = name === 'index' ? name : `${name}/index`;
    return [
      name,
      {
        source: join(ROOT, `lib/${ENTRY_POINTS[path]}.ts`),
        entry: join(ROOT, `dist/esm/${path}.d.ts`),
        file: join(ROOT, name === 'index' ? 'docs/api.d.ts' : `docs/api-${name}.d.ts`),
      },
    ];
  }),
);

const HEADER = '// The public API; npm run generate:api writes it, and a test compares it with what is built.\n';

/**
 * The declarations of everything that an entry of the built package exports, in the order in which lib exports it.
 * @param {EntryName} [name]
 * @returns {string}
 */
export function describeApi(name = 'index') {
  const { source, entry } = SNAPSHOTS[name];
  const program = ts.createProgram([entry], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const index = checker.getSymbolAtLocation(program.getSourceFile(entry));
  const printer = ts.createPrinter({ removeComments: true });
  const order = exportedNames(source);
  const place = ({ name }) => order.indexOf(name);
  const symbols = checker.getExportsOfModule(index).sort((one, other) => place(one) - place(other));
  const texts = symbols.flatMap((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return (target.declarations ?? []).map((node) => {
      const declaration = ts.isVariableDeclaration(node) ? node.parent.parent : node;
      const text = printer.printNode(ts.EmitHint.Unspecified, declaration, declaration.getSourceFile());
      return `export ${text.replace(/^export /, '').replace(/^ +private .*\n/gm, '')}`;
    });
  });
  return `${HEADER}\n${texts.join('\n\n')}\n`;
}

function exportedNames(file) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const clauses = source.statements.filter(ts.isExportDeclaration).map(({ exportClause }) => exportClause);
  return clauses.flatMap(({ elements }) => elements.map(({ name }) => name.text));
}

/** @param {EntryName} [name] */
export const readSnapshot = (name = 'index') => readFileSync(SNAPSHOTS[name].file, 'utf8');

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [name, { file }] of Object.entries(SNAPSHOTS)) writeFileSync(file, describeApi(name));
}

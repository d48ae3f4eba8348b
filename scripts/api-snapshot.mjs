import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ENTRY_POINTS } from './lib/entries.mjs';
import { ROOT } from './lib/paths.mjs';

/** @typedef {'index' | 'client' | 'store' | 'testing' | 'diagnostics' | 'metrics' | 'health' | 'dashboard' | 'redisson'} EntryName */

const NAMES = ['index', 'client', 'store', 'testing', 'diagnostics', 'metrics', 'health', 'dashboard', 'redisson'];

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

/** All entries, read once. */
let program;

/**
 * The declarations of everything that an entry of the built package exports, in the order in which lib exports it. What the
 * root exports as well is named and not repeated.
 * @param {EntryName} [name]
 * @returns {string}
 */
export function describeApi(name = 'index') {
  const { source, entry } = SNAPSHOTS[name];
  program ??= ts.createProgram(
    Object.values(SNAPSHOTS).map((snapshot) => snapshot.entry),
    { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, skipLibCheck: true },
  );
  const checker = program.getTypeChecker();
  const declarationsOf = (symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return target.declarations ?? [];
  };
  const exportsOf = (path) => checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(path)));
  const printer = ts.createPrinter({ removeComments: true });
  const order = exportedNames(source);
  const place = ({ name }) => order.indexOf(name);
  const symbols = exportsOf(entry).sort((one, other) => place(one) - place(other));
  const ofRoot = new Set(name === 'index' ? [] : exportsOf(SNAPSHOTS.index.entry).flatMap(declarationsOf));
  const isOfRoot = (symbol) => declarationsOf(symbol).some((node) => ofRoot.has(node));
  const again = symbols.filter(isOfRoot).map((symbol) => symbol.name);
  const own = symbols.filter((symbol) => !isOfRoot(symbol));
  const texts = own.flatMap((symbol) => {
    return declarationsOf(symbol).map((node) => {
      const declaration = ts.isVariableDeclaration(node) ? node.parent.parent : node;
      const text = printer.printNode(ts.EmitHint.Unspecified, declaration, declaration.getSourceFile());
      return `export ${text.replace(/^export /, '').replace(/^ +private .*\n/gm, '')}`;
    });
  });
  if (again.length > 0) texts.push(`export { ${again.join(', ')} } from 'nestjs-redis-locks';`);
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

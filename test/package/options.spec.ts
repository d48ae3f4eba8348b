import { join } from 'node:path';
import ts from 'typescript';
import { durationIn } from '../../lib/common/duration.js';
import { MODULE_OPTIONS } from '../../lib/module/redis-lock.options.js';
import { OPTIONS } from '../../lib/options/option-table.js';
import { ROOT } from '../wrong-usages/compile.js';
import { read } from './documentation.js';

const sourceOf = (name: string): string => join(ROOT, 'lib', `${name}/index.ts`);
const ENTRY_POINTS = [
  join(ROOT, 'lib/index.ts'),
  ...['client', 'store', 'testing', 'observation/metrics', 'observation/health'].map(sourceOf),
];
/** Their options have pages of their own. */
const WITH_PAGES = ['dashboard', 'redisson'].map(sourceOf);

const program = ts.createProgram([...ENTRY_POINTS, ...WITH_PAGES], {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  strict: true,
  skipLibCheck: true,
});
const checker = program.getTypeChecker();

/** The exports of a module, under the names that they have where they are declared. */
const exportsOf = (source: ts.SourceFile): Array<[name: string, declared: ts.Symbol]> => {
  const module = checker.getSymbolAtLocation(source);
  return (module === undefined ? [] : checker.getExportsOfModule(module)).map((symbol) => [
    symbol.name,
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
  ]);
};

/** The types that users write as an object of options, no matter how they are named. */
const isOptions = (name: string): boolean => /Options$|^LockDefaults$|^LockStoreContext$/.test(name);

/** The names of all options, by the types that have them: exported types, and types that the page names. */
function optionsOfTypes(): Array<[type: string, options: string[]]> {
  const named = sections.flatMap((section) => section.types);
  const modules = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(join(ROOT, 'lib')));
  const types = new Map<string, ts.Symbol>();
  for (const source of modules) {
    const isPublic = ENTRY_POINTS.includes(source.fileName);
    for (const [name, declared] of exportsOf(source)) {
      if (isPublic ? isOptions(name) : named.includes(name)) types.set(name, declared);
    }
  }
  types.delete('ContractClientOptions'); // of the harness for stores
  return [...types].map(([name, declared]) => {
    return [
      name,
      checker
        .getDeclaredTypeOfSymbol(declared)
        .getProperties()
        .map(({ name }) => name),
    ];
  });
}

interface Section {
  /** The types that the section names as its subject. */
  readonly types: readonly string[];
  /** The first column of its table, and the names below it that refer to another table. */
  readonly options: readonly string[];
}

/** The sections of docs/options.md: each names its types in the text, and their options in its table. */
const sections: readonly Section[] = read('docs/options.md')
  .split(/^#+ .*$/m)
  .flatMap((section) => section.split('<!-- /options -->'))
  .map((text) => ({
    types: [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name!).filter(isOptions),
    options: [
      ...[...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!),
      ...(/^\[As above\].*$/m.exec(text)?.[0].match(/(?<=`)\w+(?=`)/g) ?? []),
    ],
  }));

/** Types that have the options of another section, and some of their own. */
const BASES: Readonly<Record<string, string>> = {
  LockClientOptions: 'RedisLockModuleOptions',
  LockTestingOptions: 'RedisLockModuleOptions',
};

/** `npm run check:options` checks that each table has the options of its types. */
describe('docs/options.md', () => {
  const types = optionsOfTypes();

  it.each(types)('names every option of %s', (type, options) => {
    const told = sections.filter(({ types: of }) => of.includes(type) || of.includes(BASES[type] ?? type));
    expect(told.flatMap((section) => section.options)).toEqual(expect.arrayContaining(options));
  });

  it.each<[heading: string, options: Readonly<Record<string, unknown>>]>([
    ['The module', MODULE_OPTIONS.defaults],
    ['Defaults', OPTIONS.defaults.defaults],
  ])('states the actual defaults: %s', (heading, options) => {
    const tables = [heading, 'A call'].map(
      (each) => new RegExp(`^#+ ${each}\n([\\s\\S]*?)<!-- /options -->`, 'm').exec(read('docs/options.md'))![1]!,
    );
    const table = tables.reverse().join('\n');
    const told = [...table.matchAll(/^\| `(\w+)` \| (.*?) ?\|/gm)].map(([, name, text]) => [name, valueOf(text!)]);
    const scalars = Object.entries(options).filter(([, value]) => typeof value !== 'object' && value !== undefined);
    expect(scalars.length).toBeGreaterThan(4);
    expect(Object.fromEntries(told)).toMatchObject(Object.fromEntries(scalars));
  });
});

/** The text of a cell of the column of defaults. */
function valueOf(cell: string): unknown {
  const text = cell.replaceAll('`', '');
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^'.*'$/.test(text)) return text.slice(1, -1);
  return /^(?:\d+|Infinity)$/.test(text) ? Number(text) : durationIn(text);
}

/** What an editor shows above a name: the doc comment up to the first line that begins with `@`. */
function descriptions(): Map<string, string> {
  const found = new Map<string, string>();
  const add = (name: string, symbol: ts.Symbol) =>
    found.set(name, ts.displayPartsToString(symbol.getDocumentationComment(checker)));
  for (const [, symbol] of [...ENTRY_POINTS, ...WITH_PAGES].flatMap((file) =>
    exportsOf(program.getSourceFile(file)!),
  )) {
    add(symbol.name, symbol);
    if (!(symbol.flags & ts.SymbolFlags.Class)) continue;
    for (const each of checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol))) {
      const isOurs = each.declarations?.some((node) => node.getSourceFile().fileName.startsWith(join(ROOT, 'lib')));
      if (isOurs && each.flags & ts.SymbolFlags.Method) add(`${symbol.name}.${each.name}`, each);
    }
  }
  return found;
}

describe('what an editor shows', () => {
  const shown = descriptions();

  it('is a description of each export and of each static method', () => {
    expect(shown.size).toBeGreaterThan(100);
    expect([...shown].filter(([, text]) => text.trim() === '').map(([name]) => name)).toEqual([]);
  });

  it('does not stop in the middle of an example', () => {
    const cut = [...shown].filter(([, text]) => text.split('```').length % 2 === 0).map(([name]) => name);
    expect(cut).toEqual([]);
  });
});

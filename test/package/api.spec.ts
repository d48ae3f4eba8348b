import ts from 'typescript';
import { readFileSync } from 'node:fs';
import { describeApi, readSnapshot, SNAPSHOTS } from '../../scripts/api-snapshot.mjs';
import { describeExportsPage, PAGE } from '../../scripts/api-table.mjs';

const NAMES = Object.keys(SNAPSHOTS) as Array<keyof typeof SNAPSHOTS>;
const SUBPATHS = NAMES.filter((name) => name !== 'index');

/** The names that an entry point declares. */
const namesIn = (entry: keyof typeof SNAPSHOTS): string[] =>
  [
    ...readSnapshot(entry).matchAll(
      /^export (?:declare )?(?:abstract )?(?:class|interface|type|const|function) (\w+)/gm,
    ),
  ].map(([, name]) => name!);

describe('the public API', () => {
  it('matches docs/api.d.ts (after an intended change: npm run generate:api)', () => {
    expect(describeApi()).toBe(readSnapshot());
  });

  it.each(SUBPATHS)('of nestjs-redis-locks/%s matches its file in docs', (name) => {
    expect(describeApi(name)).toBe(readSnapshot(name));
  });

  it('has no type without members, which every object would match', () => {
    expect(describeApi()).not.toMatch(/interface \w+ \{\s*\}/);
  });

  it('has a row in docs/api.md for each export (npm run generate:api)', () => {
    expect(readFileSync(PAGE, 'utf8')).toBe(describeExportsPage());
  });

  it('admits undefined for each option, as callers under exactOptionalPropertyTypes expect', () => {
    const strict: string[] = [];
    const visit = (node: ts.Node, of = ''): void => {
      const name = ts.isInterfaceDeclaration(node) ? node.name.text : of;
      if (ts.isPropertySignature(node) && name.endsWith('Options') && node.questionToken) {
        if (!/\bundefined\b/.test(node.type!.getText())) strict.push(`${name}.${node.name.getText()}`);
      }
      ts.forEachChild(node, (child) => visit(child, name));
    };
    for (const entry of NAMES)
      visit(ts.createSourceFile('api.d.ts', readSnapshot(entry), ts.ScriptTarget.Latest, true));
    expect(strict).toEqual([]);
  });

  it('has at most 60 names at its root', () => {
    expect(new Set(namesIn('index')).size).toBeLessThanOrEqual(60);
  });

  it('has no constructor with a parameter whose type a user cannot name', () => {
    const constructors = NAMES.flatMap(
      (name) => readSnapshot(name).match(/^ +(?:protected )?constructor\(.*\);$/gm) ?? [],
    );
    const named = constructors.flatMap((text) => [...text.matchAll(/[:&|<] ?([A-Z]\w+)/g)].map(([, name]) => name!));
    const known = [...NAMES.flatMap(namesIn), 'HttpAdapterHost', 'Partial', 'Pick'];
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('has no name of a global type, which would compile without its import', () => {
    // Without a `lib` setting, TypeScript includes the types of browsers.
    const file = ts.createSourceFile('empty.ts', '', ts.ScriptTarget.ES2022);
    const host = ts.createCompilerHost({});
    const read = host.getSourceFile;
    host.getSourceFile = (name, ...options) => (name === 'empty.ts' ? file : read(name, ...options));
    const program = ts.createProgram(['empty.ts'], { target: ts.ScriptTarget.ES2022, types: [] }, host);
    const globals = program.getTypeChecker().getSymbolsInScope(program.getSourceFile('empty.ts')!, ts.SymbolFlags.Type);
    const known = new Set(globals.map(({ name }) => name));
    expect(known).toContain('LockManager');
    expect(NAMES.flatMap(namesIn).filter((name) => known.has(name))).toEqual([]);
  });
});

import ts from 'typescript';
import { describe, expect, it } from '@jest/globals';
import { describeApi, readSnapshot, SNAPSHOTS } from '../../scripts/api-snapshot.mjs';

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

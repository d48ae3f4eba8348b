import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENTRIES = ['index', 'client/index', 'store/index', 'testing/index', 'dashboard/index', 'redisson/index'];

/** What an editor shows above a name: the doc comment up to the first line that begins with `@`. */
function descriptions(): Map<string, string> {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile) as { config: object };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const files = ENTRIES.map((name) => `${ROOT}lib/${name}.ts`);
  const program = ts.createProgram(files, { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const found = new Map<string, string>();
  const add = (name: string, symbol: ts.Symbol) =>
    found.set(name, ts.displayPartsToString(symbol.getDocumentationComment(checker)));
  for (const file of files) {
    const entry = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
    for (const exported of checker.getExportsOfModule(entry)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      add(symbol.name, symbol);
      if (!(symbol.flags & ts.SymbolFlags.Class)) continue;
      const statics = checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol));
      for (const each of statics) {
        const isOurs = each.declarations?.some((node) => node.getSourceFile().fileName.startsWith(`${ROOT}lib/`));
        if (isOurs && each.flags & ts.SymbolFlags.Method) add(`${symbol.name}.${each.name}`, each);
      }
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

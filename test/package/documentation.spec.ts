import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const WORLD = join(ROOT, 'test/support/documentation-world.ts');
const DOCUMENTS = [
  'README.md',
  'docs/migration.md',
  'docs/design.md',
  'CONTRIBUTING.md',
  '.github/PULL_REQUEST_TEMPLATE.md',
  'CHANGELOG.md',
  'docs/observability.md',
  'docs/cli.md',
  'docs/bundlers.md',
  'docs/comparison.md',
  'test/package/fixtures/README.md',
];

const read = (document: string): string => readFileSync(join(ROOT, document), 'utf8');

/** An example, and the line of its document on which it begins. */
interface Example {
  readonly code: string;
  readonly document: string;
  readonly line: number;
}

function examplesOf(document: string): Example[] {
  const text = read(document);
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ index, [1]: code }) => ({
    code: code!,
    document,
    line: text.slice(0, index).split('\n').length + 1,
  }));
}

/** An example as a module: members of a class get their class and statements their function, all of it the world around. */
function moduleOf({ code }: Example, world: readonly string[]): string {
  const start = code.replace(/^(\s*(\/\/.*)?\n)*/, '').trimStart();
  const declares = /^(export |import |async function |function |class |@(Module|Injectable)\(.*\{\n)/.test(start);
  const body =
    declares || /^(export )?class /m.test(code)
      ? code
      : start.startsWith('@Module')
        ? code.replace(/^@Module(\(.*\))$/m, 'void $1;')
        : start.startsWith('@')
          ? `class Example { locks!: LockService;\n${code}}`
          : `export async function example() {\n${code}}`;
  const own = new Set(
    [...code.matchAll(/(?:import|class|const|function|interface) (?:type )?(?:\{([^}]*)\}|(\w+))/g)].flatMap(
      ([, several, one]) => several?.split(',').map((name) => name.trim()) ?? [one],
    ),
  );
  const used = world.filter((name) => !own.has(name) && new RegExp(`\\b${name}\\b`).test(body));
  const imports = used.length === 0 ? '' : `import { ${used.join(', ')} } from './documentation-world.js';`;
  return `${imports} ${body}\nexport {};\n`;
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return { ...options, noUnusedLocals: false, noUnusedParameters: false, isolatedModules: false, noEmit: true };
}

/** What the compiler has to say about examples, with the line of the document. */
function complaintsAbout(examples: readonly Example[]): string[] {
  const options = compilerOptions();
  const first = ts.createProgram([WORLD], options);
  const world = first.getTypeChecker();
  const names = world
    .getExportsOfModule(world.getSymbolAtLocation(first.getSourceFile(WORLD)!)!)
    .map((symbol) => symbol.name);
  const modules = new Map(
    examples.map((example, i) => [
      join(dirname(WORLD), `documentation-example-${i}.ts`),
      { example, text: moduleOf(example, names) },
    ]),
  );
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => modules.has(resolve(path)) || fileExists(path);
  host.readFile = (path) => modules.get(resolve(path))?.text ?? readFile(path);
  host.getSourceFile = (path, version) => {
    const text = modules.get(resolve(path))?.text;
    return text === undefined ? getSourceFile(path, version) : ts.createSourceFile(path, text, version, true);
  };
  const program = ts.createProgram([...modules.keys()], options, host, first);
  return [...modules].flatMap(([path, { example }]) => {
    const file = program.getSourceFile(path)!;
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({ messageText }) => `${example.document}:${example.line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  });
}

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

const anchorsOf = (document: string): string[] =>
  [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));

describe('the documentation', () => {
  it('has no example that does not compile', () => {
    const examples = ['README.md', 'docs/migration.md', 'docs/observability.md'].flatMap(examplesOf);
    expect(examples.length).toBeGreaterThan(20);
    expect(complaintsAbout(examples)).toEqual([]);
  }, 60_000);

  it.each(DOCUMENTS)('has no link in %s that leads nowhere', (document) => {
    const links = [...read(document).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
    const broken = links.filter(([, path, anchor]) => {
      const target = path === '' ? document : join(dirname(document), path!);
      return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

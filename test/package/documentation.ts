import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const WORLD = join(ROOT, 'test/package/documentation-world.ts');

/** All pages that people read, by their paths in the repository: a new one is among them by itself. */
export const PAGES: readonly string[] = [
  ...filesIn('', (name) => name.endsWith('.md')),
  ...filesIn('docs', (name) => name.endsWith('.md')),
  ...['', 'examples'].flatMap((parent) =>
    directoriesIn(parent).flatMap((directory) => filesIn(join(parent, directory), (name) => name === 'README.md')),
  ),
];

function filesIn(directory: string, isPage: (name: string) => boolean): string[] {
  return readdirSync(join(ROOT, directory))
    .filter(isPage)
    .map((name) => join(directory, name));
}

function directoriesIn(parent: string): string[] {
  return readdirSync(join(ROOT, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['node_modules', 'dist', '.git'].includes(entry.name))
    .map(({ name }) => name);
}

export const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** An example, and the line of its page on which it begins. */
export interface Example {
  readonly code: string;
  readonly page: string;
  readonly line: number;
}

/** The text before a quotation, the file that has it, and the quoted text. */
export const QUOTED: RegExp = /^<!-- (\S+) -->\n```\w+\n(.*?)^```$/gms;

/** Except for quotations from a file: these are compiled there. */
export function examplesOf(page: string): Example[] {
  const text = read(page).replace(QUOTED, (quotation) => quotation.replace(/[^\n]/g, ' '));
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ index, [1]: code }) => ({
    code: code!,
    page,
    line: text.slice(0, index).split('\n').length + 1,
  }));
}

/** The names that examples may take for granted. */
let worldNames: readonly string[] | undefined;
let world: ts.Program | undefined;

/**
 * An example as a module: members of a class get their class and statements their function, `example`; all of it the
 * world around, of which it imports what it does not declare itself.
 */
export function moduleOf({ code }: Example): string {
  const start = code.replace(/^(\s*(\/\/.*)?\n)*/, '').trimStart();
  const declares = /^(export |import |async function |function |class |@(Module|Injectable|Controller)\(.*\{\n)/.test(
    start,
  );
  const body =
    declares || /^(export )?class /m.test(code)
      ? code
      : start.startsWith('@Module')
        ? code.replace(/^@Module(\(.*\))$/m, 'void $1;')
        : start.startsWith('@')
          ? `class Example { locks!: LockService;\n${code}}`
          : `export async function example() {\n${code}}`;
  const own = new Set(
    [...code.matchAll(/(?:import|class|const|let|function|interface) (?:type |\* as )?(?:\{([^}]*)\}|(\w+))/g)].flatMap(
      ([, several, one]) => several?.split(',').map((name) => name.trim().replace(/^type /, '')) ?? [one],
    ),
  );
  const used = namesOfWorld().filter((name) => !own.has(name) && new RegExp(`\\b${name}\\b`).test(body));
  const imports = used.length === 0 ? '' : `import { ${used.join(', ')} } from './documentation-world.js';`;
  return `${imports} ${body}\nexport {};\n`;
}

function namesOfWorld(): readonly string[] {
  if (worldNames === undefined) {
    const checker = worldProgram().getTypeChecker();
    const symbol = checker.getSymbolAtLocation(worldProgram().getSourceFile(WORLD)!)!;
    worldNames = checker.getExportsOfModule(symbol).map(({ name }) => name);
  }
  return worldNames;
}

const worldProgram = (): ts.Program => (world ??= ts.createProgram([WORLD], compilerOptions()));

/** The options of the project, with Node's and the DOM's names: examples log and fetch. */
function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return { ...options, noUnusedLocals: false, noUnusedParameters: false, isolatedModules: false, noEmit: true };
}

/** The compiler's messages about examples, with the lines of their pages. */
export function complaintsAbout(examples: readonly Example[]): string[] {
  const options = compilerOptions();
  const modules = new Map(
    examples.map((example, i) => [
      join(dirname(WORLD), `documentation-example-${i}.ts`),
      { example, text: moduleOf(example) },
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
  const program = ts.createProgram([...modules.keys()], options, host, worldProgram());
  return [...modules].flatMap(([path, { example }]) => {
    const file = program.getSourceFile(path)!;
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({ messageText }) => `${example.page}:${example.line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  });
}

/** Runs an example: its classes are defined, which parses their templates, and its statements run in the world. */
export async function runExample(example: Example): Promise<void> {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.CommonJS,
    experimentalDecorators: true,
    esModuleInterop: true,
  };
  const { outputText } = ts.transpileModule(moduleOf(example), { compilerOptions });
  const modules = new Map<string, unknown>();
  for (const [, name] of outputText.matchAll(/\brequire\("([^"]+)"\)/g)) modules.set(name!, await import(name!));
  const exports: { example?: () => Promise<void> } = {};
  new Function('require', 'exports', outputText)((name: string) => modules.get(name), exports);
  await exports.example?.();
}

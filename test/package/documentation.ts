import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import type { LockService } from 'nestjs-redis-locks';
import { compilerOptions, complaintsOf, ROOT } from '../wrong-usages/compile.js';

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

/** A file that a page shows, and the line of the page on which it begins. */
export interface PageFile {
  readonly name: string;
  readonly code: string;
  readonly page: string;
  readonly line: number;
}

/** The text before a quotation, the file that has it, and the quoted text. */
export const QUOTED: RegExp = /^<!-- (\S+) -->\n```\w+\n(.*?)^```$/gms;

/** The files that a page shows: each begins with its name. Quotations from a file are compiled there. */
export function filesOf(page: string): PageFile[] {
  const text = read(page).replace(QUOTED, (quotation) => quotation.replace(/[^\n]/g, ' '));
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ index, [1]: code }) => ({
    name: /^\/\/ ([\w.-]+\.ts)\n/.exec(code!)?.[1] ?? '',
    code: code!,
    page,
    line: text.slice(0, index).split('\n').length + 1,
  }));
}

/** Where a file of a page would be in the repository, so that it finds the installed packages. */
const pathOf = ({ page, name }: PageFile): string =>
  join(ROOT, 'test/package/pages', page.replace(/\.md$/, '').replaceAll('/', '-'), name);

/** The compiler's messages about the files of pages, with the lines of the pages. */
export function complaintsAbout(files: readonly PageFile[]): string[] {
  // Nest's own projects do not set the first option.
  const options = compilerOptions({ noPropertyAccessFromIndexSignature: false, types: ['node', 'jest'] });
  const said = complaintsOf(new Map(files.map((file) => [pathOf(file), file.code])), options);
  return files.flatMap((file) =>
    said.get(pathOf(file))!.map(({ line, text }) => `${file.page}:${file.line + line}: ${text}`),
  );
}

/** The address that pages write; the tests' own server stands in for it. */
const ADDRESS = 'redis://127.0.0.1:6379';

export type Exports = Readonly<Record<string, unknown>>;

/** Jest cannot load it beside a Nest of ES modules. Files that import it are only compiled. */
const NOT_LOADABLE = "from 'nestjs-cls'";

/**
 * Runs the files of a page, except for its specs and `main.ts`: classes are defined, which parses their templates. Answers
 * what the files export, by their names.
 */
export async function runPage(files: readonly PageFile[], redis: string): Promise<ReadonlyMap<string, Exports>> {
  const run = files.filter(
    ({ name, code }) => !name.endsWith('.spec.ts') && name !== 'main.ts' && !code.includes(NOT_LOADABLE),
  );
  const codes = new Map(run.map(({ name, code }) => [name, javascriptOf(code.replaceAll(ADDRESS, redis))]));
  const packages = new Map<string, unknown>();
  for (const [, name] of [...codes.values()].join('\n').matchAll(/\brequire\("([^".][^"]*)"\)/g))
    packages.set(name!, await import(name!));
  const exports = new Map<string, Exports>();
  const load = (name: string): Exports => {
    const known = exports.get(name);
    if (known !== undefined) return known;
    const own = {};
    exports.set(name, own);
    const require = (what: string): unknown =>
      what.startsWith('./') ? load(what.slice(2).replace(/\.js$/, '.ts')) : packages.get(what);
    new Function('require', 'exports', codes.get(name)!)(require, own);
    return own;
  };
  for (const name of codes.keys()) load(name);
  return exports;
}

const javascriptOf = (code: string): string =>
  ts.transpileModule(code, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.CommonJS,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      esModuleInterop: true,
    },
  }).outputText;

/** The exported functions of a file whose only parameter is the service: they run on the tests' own Redis. */
export function callable({ code }: PageFile, exports: Exports): Array<(locks: LockService) => Promise<unknown>> {
  return [...code.matchAll(/^export async function (\w+)\(locks: LockService\)/gm)].map(
    ([, name]) => exports[name!] as (locks: LockService) => Promise<unknown>,
  );
}

/** Writes the files of a page into a fresh project, and runs its specs with Jest and its default limits. */
export async function testPage(files: readonly PageFile[]): Promise<string> {
  const parent = join(ROOT, 'test/package/pages');
  await mkdir(parent, { recursive: true });
  const project = await mkdtemp(join(parent, 'project-'));
  try {
    for (const { name, code } of files) await writeFile(join(project, name), code);
    const { default: jest } = (await import(join(ROOT, 'jest.config.js'))) as { default: Record<string, unknown> };
    const config = JSON.parse(JSON.stringify(jest).replaceAll('<rootDir>', ROOT.replace(/\/$/, ''))) as object;
    const own = {
      ...config,
      rootDir: project,
      roots: [project],
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: ['/node_modules/'],
      reporters: ['default'],
      testSequencer: undefined,
      testTimeout: undefined,
    };
    const argv = [join(ROOT, 'node_modules/jest/bin/jest.js'), '--config', JSON.stringify(own), '--runInBand'];
    const env = { ...process.env, NODE_OPTIONS: '--experimental-vm-modules --no-warnings' };
    const { stderr } = await promisify(execFile)(process.execPath, argv, { cwd: project, env });
    return stderr;
  } finally {
    await rm(project, { recursive: true, force: true });
    if ((await readdir(parent)).length === 0) await rm(parent, { recursive: true });
  }
}

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ENTRY_POINTS } from './lib/entries.mjs';
import { ROOT } from './lib/paths.mjs';
import { StepFailed } from './lib/run.mjs';

export const PAGE = join(ROOT, 'docs/api.md');

/** The page about the subject of an export, by its name or its entry point. */
const PAGES = [
  [/^RedisLockModule$|^DistributedLock$|urrentLock$/, 'quick-start.md'],
  [/^(LockService|InjectLockService|RedisLockOptionsFactory|parseDuration|LockConnectionOption)$/, 'configuration.md'],
  [/^LockHandle$/, 'concepts.md'],
  [/^(Lock\w*Error|LatchLostError|LockErrorDetails|isL\w+|LockEvent)$/, 'errors.md'],
  [/^(Lock(Object|Kind)|ReadWriteLock|Semaphore|CountDownLatch|LeaderElection)$/, 'lock-types.md'],
  [/^(UseLock|RequestParts|DistributedLockInterceptor|LockExceptionFilter|KeyBuilder)$/, 'requests.md'],
  [/^(lockKey|methodKey)$/, 'templates.md'],
  [/^Lock(State|Holder|Waiter|Health)$/, 'stuck-key.md'],
];
const PAGES_OF_ENTRIES = {
  index: 'options.md',
  client: 'configuration.md',
  store: 'testing.md',
  testing: 'testing.md',
  diagnostics: 'metrics.md',
  metrics: 'metrics.md',
  health: 'metrics.md',
  dashboard: 'dashboard.md',
  redisson: 'redisson.md',
};

/** Pages that name many exports and explain none. */
const LISTS = new Set(['api.md', 'design.md', 'migration.md', 'comparison.md', 'verification.md', 'index.md']);

const HEADER = [
  '# Exports',
  '',
  'Every export of the package, what it is for, and the page about its subject. A type that no program has to name is not',
  "exported. If you need such a type, derive it: `Parameters<LockService['adopt']>[1]`.",
  '',
  '`npm run generate:api` writes this page from the doc comments.',
  '',
].join('\n');

/** Every export of each entry point, with the first sentence of its doc comment. */
function describeExports() {
  const files = Object.values(ENTRY_POINTS).map((name) => join(ROOT, 'lib', `${name}.ts`));
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const seen = new Set();
  return Object.keys(ENTRY_POINTS).map((entry, i) => {
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(files[i])));
    const rows = exported.map((symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const isAgain = seen.has(target);
      seen.add(target);
      return {
        name: symbol.name,
        meaning: firstSentence(symbol.name, target.getDocumentationComment(checker)),
        isAgain,
      };
    });
    const [folder] = entry.split('/');
    return { entry: folder, path: folder === 'index' ? '' : `/${folder}`, rows };
  });
}

function firstSentence(name, comment) {
  const text = ts
    .displayPartsToString(comment)
    .replace(/\{@link (\w+) ?\}/g, '`$1`')
    .replace(/\s+/g, ' ')
    .trim();
  const [sentence] = text.split(/(?<=[^.]\.)\s+(?=[A-Z`'])|:\s(?=```|- )/);
  if (sentence === '') throw new StepFailed(`${name} is exported without a doc comment`);
  return /[.:]$/.test(sentence) ? sentence.replace(/:$/, '.') : `${sentence}.`;
}

/** The page about the subject of an export. If it does not name the export, the page that names it most often. */
function pageOf(name, entry, texts) {
  const [, subject] = PAGES.find(([names]) => names.test(name)) ?? [undefined, PAGES_OF_ENTRIES[entry]];
  const countIn = (text) => text.split(new RegExp(`\\b${name}\\b`)).length - 1;
  const named = texts.map(([file, text]) => ({ file, count: countIn(text) })).filter(({ count }) => count > 0);
  const [most] = named.sort((one, other) => other.count - one.count);
  const file = most === undefined || named.some((each) => each.file === subject) ? subject : most.file;
  return `[${file.replace('.md', '')}](${file})`;
}

function readPages() {
  const folder = join(ROOT, 'docs');
  const files = readdirSync(folder).filter((file) => file.endsWith('.md') && !LISTS.has(file));
  return files.sort().map((file) => [file, readFileSync(join(folder, file), 'utf8')]);
}

/** The page as the types give it. */
export function describeExportsPage() {
  const texts = readPages();
  const parts = describeExports().map(({ entry, path, rows }) => {
    const again = rows.filter(({ isAgain }) => isAgain).map(({ name }) => `\`${name}\``);
    const own = rows.filter(({ isAgain }) => !isAgain);
    const lines = own.map(({ name, meaning }) => {
      const cell = meaning.replaceAll('|', '\\|');
      return `| \`${name}\` | ${cell} | ${pageOf(name, entry, texts)} |`.replace(/ {2,}/g, ' ');
    });
    const rest = again.length === 0 ? [] : ['', `Also, as above: ${again.join(', ')}.`];
    const head = ['', `## nestjs-redis-locks${path}`, '', '| export | what it is for | page |', '|---|---|---|'];
    return [...head, ...lines, ...rest].join('\n');
  });
  return `${HEADER}${parts.join('\n')}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFileSync(PAGE, describeExportsPage());

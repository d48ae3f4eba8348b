import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ENTRY_POINTS } from './lib/entries.mjs';
import { ROOT } from './lib/paths.mjs';
import { StepFailed } from './lib/run.mjs';

export const PAGE = join(ROOT, 'docs/api.md');

/** The page that explains an export: by its name, or by its entry point. */
const PAGES = [
  [/^RedisLockModule$|urrentLock$/, 'quick-start.md'],
  [/^(LockService|InjectLockService|RedisLockOptionsFactory|parseDuration|LockConnectionOption)$/, 'configuration.md'],
  [/^(LockHandle|LockMethodDecorator)$/, 'concepts.md'],
  [/^(Lock\w*Error|LatchLostError|LockErrorDetails|isL\w+|LockEvent)$/, 'errors.md'],
  [/^(Lock(Object|Kind)|ReadWriteLock|Semaphore|CountDownLatch|LeaderElection)$/, 'lock-types.md'],
  [/^(UseLock|LockRequest|DistributedLockInterceptor|LockExceptionFilter|KeyBuilder)$/, 'requests.md'],
  [/^(lockKey|methodKey|MethodKey)$/, 'templates.md'],
  [/^Lock(State|Holder|Waiter|Health)$/, 'stuck-key.md'],
  [/^getLockServiceToken$/, 'testing.md'],
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

const HEADER = [
  '# Exports',
  '',
  'Every export of the package, what it is for, and the page that explains it. A type that no program has to name is not',
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

function pageOf(name, entry) {
  const [, file] = PAGES.find(([names]) => names.test(name)) ?? [undefined, PAGES_OF_ENTRIES[entry]];
  return `[${file.replace('.md', '')}](${file})`;
}

/** The page as the types give it. */
export function describeExportsPage() {
  const parts = describeExports().map(({ entry, path, rows }) => {
    const again = rows.filter(({ isAgain }) => isAgain).map(({ name }) => `\`${name}\``);
    const own = rows.filter(({ isAgain }) => !isAgain);
    const lines = own.map(({ name, meaning }) => {
      const cell = meaning.replaceAll('|', '\\|');
      return `| \`${name}\` | ${cell} | ${pageOf(name, entry)} |`.replace(/ {2,}/g, ' ');
    });
    const rest = again.length === 0 ? [] : ['', `Also, as above: ${again.join(', ')}.`];
    const head = ['', `## nestjs-redis-locks${path}`, '', '| export | what it is for | page |', '|---|---|---|'];
    return [...head, ...lines, ...rest].join('\n');
  });
  return `${HEADER}${parts.join('\n')}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFileSync(PAGE, describeExportsPage());

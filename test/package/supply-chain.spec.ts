import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../wrong-usages/compile.js';
import { read } from './documentation.js';

interface Manifest {
  readonly license?: string;
  readonly scripts?: Record<string, string>;
  readonly dependencies?: Record<string, string>;
}
interface Locked {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly peer?: boolean;
  readonly link?: boolean;
}

const manifest = (path: string): Manifest => JSON.parse(read(path)) as Manifest;
const AT_INSTALLATION = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];

/** The files that make up the library, each with its path. */
const sources = readdirSync(join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ts.createSourceFile(path, read(join('lib', path)), ts.ScriptTarget.Latest, true));

function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  node.forEachChild((child) => visit(child, look));
}

describe('the dependencies of the package', () => {
  it('is acorn, and nothing else', () => {
    const { dependencies } = manifest('package.json');
    expect(Object.keys(dependencies!)).toEqual(['acorn']);
    const acorn = manifest('node_modules/acorn/package.json');
    expect(acorn).toMatchObject({ license: 'MIT' });
    expect(acorn.dependencies ?? {}).toEqual({});
  });

  it.each(['package.json', 'node_modules/acorn/package.json'])('runs nothing at installation: %s', (path) => {
    // npm runs `prepare` only for packages from git; packages from the registry have been prepared.
    const names = AT_INSTALLATION.filter((name) => name !== 'prepare' || path === 'package.json');
    expect(Object.keys(manifest(path).scripts ?? {}).filter((name) => names.includes(name))).toEqual([]);
  });

  it('is installed for development by its hashes, from whatever registry, without scripts', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
    const locked = Object.entries(packages).filter(([path]) => path.startsWith('node_modules/'));
    expect(locked.length).toBeGreaterThan(100);
    expect(locked.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path)).toEqual([]);
    expect(locked.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
    expect(locked.filter(([, { dev, peer }]) => !dev && !peer).map(([path]) => path)).toEqual(['node_modules/acorn']);
    expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
  });
});

describe('the sources of the library', () => {
  it('generate no code from text', () => {
    const found: string[] = [];
    for (const source of sources) {
      visit(source, (node) => {
        if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return;
        const called = node.expression.getText();
        const [first] = node.arguments ?? [];
        // The command line program loads a module of its own when it needs it.
        const isOwnModule = first !== undefined && ts.isStringLiteral(first) && first.text.startsWith('./');
        const runsText = ['eval', 'Function'].includes(called) || (called === 'import' && !isOwnModule);
        const setsText = /^set(Timeout|Interval)$/.test(called) && first !== undefined && ts.isStringLiteralLike(first);
        if (runsText || setsText) found.push(`${source.fileName}: ${node.getText()}`);
      });
    }
    expect(sources.length).toBeGreaterThan(100);
    expect(found).toEqual([]);
  });

  it('start no process, and connect only to Redis, Sentinels and Cluster nodes', () => {
    // The addresses of the nodes of a Cluster, and the look-up that a client of the application may have replaced.
    const connecting = ['connect', 'passed-client'].map((name) => `store/redis/${name}.ts`);
    const connections = ['node:net', 'node:tls', 'node:dns'];
    const imported = sources.flatMap((source) =>
      source.statements.flatMap((statement) =>
        ts.isImportDeclaration(statement) && !statement.importClause?.isTypeOnly
          ? [(statement.moduleSpecifier as ts.StringLiteral).text].filter(
              (name) => !(connecting.includes(source.fileName) && connections.includes(name)),
            )
          : [],
      ),
    );
    const modules = [...new Set(imported)].filter((name) => name.startsWith('node:'));
    expect(modules).toContain('node:crypto');
    const forbidden = 'child_process cluster dgram dns http http2 https module net tls vm worker_threads'.split(' ');
    expect(modules.filter((name) => forbidden.includes(name.replace(/^node:|\/.*$/g, '')))).toEqual([]);
    // No import leaves out `node:`.
    expect(imported.filter((name) => forbidden.includes(name))).toEqual([]);
  });

  it('make client ids from 16 bytes of node:crypto, and use Math.random for pauses only', () => {
    const ids = sources.filter((source) => source.text.includes("randomBytes(16).toString('hex')"));
    expect(ids.map(({ fileName }) => fileName).sort()).toEqual([
      'store/memory/memory-store.ts',
      'store/redis/redis-store.ts',
    ]);
    const guessable = sources.filter((source) => source.text.includes('Math.random'));
    expect(guessable.map(({ fileName }) => fileName).sort()).toEqual([
      'module/redis-lock.composition.ts', // jitter
      'store/quorum/quorum-store.ts', // pauses after split votes, distance of tokens
      'store/redis/cluster-nodes.ts', // a master to ask
      'store/redis/lock-credentials.ts', // when a login is renewed
      'store/redis/subscriber.ts', // jitter
    ]);
  });
});

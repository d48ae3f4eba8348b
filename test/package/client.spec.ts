import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { ROOT } from '../wrong-usages/compile.js';

/** A directory in which the package is installed, its dependencies except for Nest, and nothing else. */
let directory: string;

beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'locks-client-')));
  const own = join(directory, 'node_modules/nestjs-redis-locks');
  mkdirSync(own, { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(own, 'package.json'));
  cpSync(join(ROOT, 'dist'), join(own, 'dist'), { recursive: true });
  for (const name of ['acorn', 'ioredis', 'rxjs', '@types/node']) {
    const target = join(directory, 'node_modules', name);
    mkdirSync(dirname(target), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), target);
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function run(type: 'module' | 'commonjs', line: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [`--input-type=${type}`, '-e', line], {
    cwd: directory,
    env: { PATH: process.env['PATH'] },
  });
  return JSON.parse(stdout);
}

const USE = `(async () => {
  const locks = await createLockClient({ store: createMemoryStore, keyPrefix: 'k' });
  const token = await locks.run(lockKey\`stock:\${7}\`, (lock) => lock.fencingToken);
  await locks.close();
  console.log(JSON.stringify(token > 0));
})();`;

describe('nestjs-redis-locks/client and nestjs-redis-locks/store without Nest', () => {
  it.each(['@nestjs/common', '@nestjs/core', 'reflect-metadata'])('is tested where %s is not', async (name) => {
    await expect(run('commonjs', `require('${name}')`)).rejects.toThrow(/Cannot find module/);
    await expect(run('commonjs', `require('nestjs-redis-locks')`)).rejects.toThrow(/Cannot find module '@nestjs/);
  });

  it('run as an ES module', async () => {
    const imports = `import { createLockClient, lockKey } from 'nestjs-redis-locks/client';
      import { createMemoryStore } from 'nestjs-redis-locks/store';`;
    expect(await run('module', `${imports}\n${USE}`)).toBe(true);
  });

  it('run as CommonJS', async () => {
    const imports = `const { createLockClient, lockKey } = require('nestjs-redis-locks/client');
      const { createMemoryStore } = require('nestjs-redis-locks/store');`;
    expect(await run('commonjs', `${imports}\n${USE}`)).toBe(true);
  });

  it('take the protocol of Redisson', async () => {
    const line = `const { createLockClient } = require('nestjs-redis-locks/client');
      const { redisson } = require('nestjs-redis-locks/redisson');
      const options = { connection: ['redis://a', 'redis://b', 'redis://c'], protocol: redisson() };
      createLockClient(options).catch(({ code }) => console.log(JSON.stringify(code)));`;
    expect(await run('commonjs', line)).toBe('LOCK_CONFIG');
  });

  // That other resolutions find the types is what `npm run check:package` checks.
  it('have complete types', () => {
    const file = join(directory, 'types.ts');
    writeFileSync(
      file,
      `import { createLockClient, isLockTimeoutError, type LockClient } from 'nestjs-redis-locks/client';
       import { createMemoryStore, type LockStore, type LockStoreContext } from 'nestjs-redis-locks/store';
       const store = (parts: LockStoreContext): LockStore => createMemoryStore(parts);
       export const token: Promise<number> = createLockClient({ store }).then((locks: LockClient) =>
         locks.run('a', (lock) => lock.fencingToken));
       export const known: boolean = isLockTimeoutError(new Error());
       // @ts-expect-error there is no such option
       void createLockClient({ lockTimeout: 5 });`,
    );
    const program = ts.createProgram([file], {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
      types: ['node'],
      typeRoots: [join(directory, 'node_modules/@types')],
      strict: true,
      noEmit: true,
    });
    const messages = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText, file }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
    expect(messages).toEqual([]);
    expect(program.getSourceFiles().filter(({ fileName }) => fileName.includes('@nestjs'))).toEqual([]);
  });
});

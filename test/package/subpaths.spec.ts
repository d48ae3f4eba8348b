import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { ROOT } from '../wrong-usages/compile.js';

const { exports, bin, peerDependenciesMeta } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
  exports: Record<string, unknown>;
  bin: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
};
const SUBPATHS = Object.keys(exports).filter((path) => path !== './package.json');

/** Runs a line in a process of its own, where the package finds itself by its name as its users do. */
async function evaluate<T>(type: 'module' | 'commonjs', line: string): Promise<T> {
  const args = [`--input-type=${type}`, '-e', line];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] },
  });
  return JSON.parse(stdout) as T;
}
const nameOf = (path: string): string => path.replace('.', 'nestjs-redis-locks');

describe('the built package', () => {
  it('exports the same to ES modules and to CommonJS, and loads no optional peer', async () => {
    const packages = JSON.stringify(SUBPATHS.map(nameOf));
    const [esm, cjs] = await Promise.all([
      evaluate<{ exported: string[][] }>(
        'module',
        // Nest is an ES module: Node cannot require it while it loads, so no file that an ES module loads may require it.
        `const [, ...all] = await Promise.all(['@nestjs/common', ...${packages}].map((name) => import(name)));
         console.log(JSON.stringify({ exported: all.map((each) => Object.keys(each).sort()) }));`,
      ),
      evaluate<{ exported: string[][]; loaded: string[] }>(
        'commonjs',
        `const exported = ${packages}.map((name) => Object.keys(require(name)).sort());
         console.log(JSON.stringify({ exported, loaded: Object.keys(require.cache) }));`,
      ),
    ]);
    const names = ['client', 'store', 'testing', 'diagnostics', 'metrics', 'health', 'dashboard', 'redisson'];
    expect(SUBPATHS).toEqual(['.', ...names.map((name) => `./${name}`)]);
    expect(cjs.exported).toEqual(esm.exported);
    // Without Nest there are only the client, the store and the diagnostics: client.spec.ts.
    const ofNest = ['@nestjs/common', '@nestjs/core', 'reflect-metadata'];
    const optional = Object.keys(peerDependenciesMeta).filter((name) => !ofNest.includes(name));
    expect(optional.sort()).toEqual(['@nestjs/terminus', '@opentelemetry/api', 'prom-client']);
    expect(cjs.loaded.filter((file) => optional.some((name) => file.includes(`node_modules/${name}/`)))).toEqual([]);
  });

  it('has one memory store for a process that loads it as ES modules and as CommonJS', async () => {
    const { excluded, free, tokens } = await evaluate<{ excluded: boolean; free: boolean; tokens: number[] }>(
      'module',
      `import 'reflect-metadata';
       import { createRequire } from 'node:module';
       import { NestFactory } from '@nestjs/core';
       import * as esm from 'nestjs-redis-locks';
       const cjs = createRequire(process.cwd() + '/package.json')('nestjs-redis-locks');
       const apps = await Promise.all([esm, cjs].map(({ RedisLockModule }) =>
         NestFactory.createApplicationContext(RedisLockModule.forRoot({ store: 'memory' }), { logger: false })));
       const [one, other] = apps.map((app, i) => app.get([esm, cjs][i].LockService));
       const handle = await one.acquire('a');
       const excluded = (await other.tryAcquire('a')) === null;
       await handle.release();
       const next = await other.tryAcquire('a');
       console.log(JSON.stringify({ excluded, free: next !== null, tokens: [handle, next].map((held) => held?.fencingToken) }));
       for (const app of apps) await app.close();`,
    );
    expect({ excluded, free }).toEqual({ excluded: true, free: true });
    expect(tokens[1]).toBeGreaterThan(tokens[0]!);
  });

  it('has the command line program', () => {
    expect(readFileSync(`${ROOT}/${bin['nestjs-redis-locks']!}`, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});

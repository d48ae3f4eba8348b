// The size of each package, the dependencies that it adds, and how long it takes to import: npm run bench:package
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from '../scripts/build.mjs';
import { npm } from '../scripts/lib/npm.mjs';
import { packTarball } from '../scripts/lib/pack.mjs';
import { ROOT } from '../scripts/lib/paths.mjs';
import { runAsScript } from '../scripts/lib/run.mjs';
import { checkNodeVersion, ensureNodeModules } from '../scripts/setup.mjs';
import { measureImports } from './harness/import-time.mjs';
import { ensurePeers } from './harness/install.mjs';
import { closureOf, sizeOf } from './harness/package-closure.mjs';
import { toMarkdown } from './report/package-table.mjs';

const RESULTS = fileURLToPath(new URL('results/package.md', import.meta.url));
const MODULES = fileURLToPath(new URL('node_modules', import.meta.url));
const OURS = 'nestjs-redis-locks';
const PEERS = ['redlock', 'redis-semaphore', '@verrou/core', 'murlock', 'redlock-universal', '@sesamecare-oss/redlock'];

/**
 * The packages that an application with Nest and ioredis has anyway; a library that depends on them does not add them.
 */
const PRESENT = ['@nestjs/common', '@nestjs/core', 'ioredis', 'reflect-metadata', 'rxjs'];
const STARTS = 20;

async function measure() {
  checkNodeVersion();
  await ensureNodeModules();
  await ensurePeers();
  await build();
  const directory = mkdtempSync(join(tmpdir(), 'locks-size-'));
  try {
    const modules = join(directory, 'node_modules');
    cpSync(MODULES, modules, { recursive: true });
    const { path: tarball } = await packTarball(directory);
    // The copy of the benchmark is not the published one.
    rmSync(join(modules, OURS), { recursive: true, force: true });
    mkdirSync(join(modules, OURS));
    await promisify(execFile)('tar', ['xzf', tarball, '-C', join(modules, OURS), '--strip-components=1']);
    if (!existsSync(join(modules, 'acorn')))
      cpSync(join(ROOT, 'node_modules/acorn'), join(modules, 'acorn'), { recursive: true });

    const names = [OURS, ...PEERS];
    const base = PRESENT.filter((name) => existsSync(join(modules, name)));
    const times = await measureImports({ names: [...names, undefined], base, directory, starts: STARTS });
    const rows = [];
    for (const name of names) {
      const brought = closureOf(name, { modules, present: PRESENT });
      const total = brought.reduce((sum, path) => sum + sizeOf(path), 0);
      const own = join(modules, name);
      const packed = await packedSize(own, directory);
      rows.push({
        name,
        version: versionIn(own),
        packed,
        unpacked: sizeOf(own),
        total,
        packages: brought.length - 1,
        ...times.get(name),
      });
    }
    const machine = {
      node: process.versions.node,
      cpu: cpus()[0]?.model.trim() ?? 'unknown',
      load: loadavg()[1],
      starts: STARTS,
    };
    const markdown = toMarkdown({
      rows,
      base: times.get(undefined),
      machine,
      date: new Date().toISOString().slice(0, 10),
    });
    writeFileSync(RESULTS, markdown);
    console.log(markdown);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Packed as npm packs it; nothing is run and nothing is fetched. */
async function packedSize(path, directory) {
  const { command, args } = npm();
  const pack = [...args, 'pack', path, '--json', '--dry-run', '--ignore-scripts', '--loglevel=error'];
  const { stdout } = await promisify(execFile)(command, pack, { cwd: directory, maxBuffer: 2 ** 26 });
  const packed = JSON.parse(stdout);
  return (Array.isArray(packed) ? packed : Object.values(packed))[0].size;
}

const versionIn = (path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version;

await runAsScript(measure);

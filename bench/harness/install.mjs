import { cpSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureNodeModules } from '../../scripts/lib/node-modules.mjs';

const BENCH = fileURLToPath(new URL('..', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Installs the packages that `bench/` compares with, if they are missing or differ from package-lock.json. */
export const ensurePeers = () => ensureNodeModules(BENCH);

/** Puts the library, as it is built, beside its peers: so that it has the same ioredis as they. */
export function installLibrary() {
  const home = `${BENCH}node_modules/nestjs-redis-locks`;
  rmSync(home, { recursive: true, force: true });
  for (const part of ['package.json', 'dist/esm', 'dist/cjs']) {
    cpSync(`${ROOT}${part}`, `${home}/${part}`, { recursive: true });
  }
}

/** The version of an installed package. */
export function versionOf(name) {
  try {
    return JSON.parse(readFileSync(`${BENCH}node_modules/${name}/package.json`, 'utf8')).version;
  } catch {
    return undefined;
  }
}

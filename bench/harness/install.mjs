import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureNodeModules } from '../../scripts/lib/node-modules.mjs';

const BENCH = fileURLToPath(new URL('..', import.meta.url));

/** Installs what `bench/` is compared with, where it is missing or not what package-lock.json says. */
export const ensurePeers = () => ensureNodeModules(BENCH);

/** The version of an installed package. */
export function versionOf(name) {
  try {
    return JSON.parse(readFileSync(`${BENCH}node_modules/${name}/package.json`, 'utf8')).version;
  } catch {
    return undefined;
  }
}

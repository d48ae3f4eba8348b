import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm } from './npm.mjs';
import { ROOT } from './paths.mjs';
import { runOrFail, StepFailed } from './run.mjs';

/** Set to 1, it keeps the node modules as they are: other versions of peers have been put there, to be tested with. */
const KEEP_VARIABLE = 'LOCKS_KEEP_MODULES';

const MINIMUM_NODE = [20, 19];

/** Fails with what to do when this Node is too old. */
export function checkNodeVersion() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1])) return;
  throw new StepFailed(`This is Node ${process.versions.node}; ${MINIMUM_NODE.join('.')} or newer is needed.`);
}

/** Installs the node modules where they are missing or are not those of package-lock.json. */
export async function ensureNodeModules() {
  if (process.env[KEEP_VARIABLE] === '1' || areInstalled()) return;
  console.log('Installing node modules: npm ci');
  const { command, args } = npm();
  await runOrFail(command, [...args, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Compares what npm noted down when it had finished with what the lock file wants; optional packages may be missing. */
function areInstalled() {
  const wanted = readPackages('package-lock.json');
  const installed = readPackages('node_modules/.package-lock.json');
  if (wanted === undefined) throw new StepFailed('package-lock.json is missing');
  if (installed === undefined) return false;
  return Object.entries(wanted)
    .filter(([path, entry]) => path.startsWith('node_modules/') && !entry.optional && !entry.devOptional)
    .every(([path, { version }]) => installed[path]?.version === version);
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(join(ROOT, file), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

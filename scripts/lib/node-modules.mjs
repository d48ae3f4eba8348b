import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { npm as whichNpm } from './npm.mjs';
import { ROOT } from './paths.mjs';
import { runOrFail, StepFailed } from './run.mjs';

/** Set to 1, it keeps the node modules as they are: other versions of peers have been put there, to be tested with. */
const KEEP_VARIABLE = 'LOCKS_KEEP_MODULES';

const MINIMUM_NODE = [20, 19];
const QUIET = ['--no-audit', '--no-fund', '--loglevel=error'];

/** Fails, with instructions, if this Node is too old. */
export function checkNodeVersion() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1])) return;
  throw new StepFailed(`This is Node ${process.versions.node}; ${MINIMUM_NODE.join('.')} or newer is needed.`);
}

/**
 * Installs the node modules of a package of ours, by default the library's own, if they are missing or differ from its
 * package-lock.json.
 */
export async function ensureNodeModules(directory = ROOT) {
  const keeps = process.env[KEEP_VARIABLE] === '1' && directory === ROOT;
  if (keeps || areInstalled(directory)) return;
  const place = relative(ROOT, directory);
  const what = place === '' ? 'npm ci' : `npm ci in ${place}/`;
  console.log(`Installing node modules: ${what}`);
  // Some packages say that they want a newer Node, and run on this one.
  await npm(['ci', '--prefix', directory, '--include=dev', '--engine-strict=false', ...QUIET], { what });
}

/** Runs the npm that runs us, if one does: there may be another one, or none, on the PATH. */
export async function npm(args, { what = `npm ${args[0]}` } = {}) {
  const { command, args: first } = whichNpm();
  await runOrFail(command, [...first, ...args], { what, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Compares the list that npm wrote when it had finished with the lock file; optional packages may be missing. */
function areInstalled(directory) {
  const wanted = readPackages(join(directory, 'package-lock.json'));
  const installed = readPackages(join(directory, 'node_modules/.package-lock.json'));
  if (wanted === undefined) throw new StepFailed(`${join(relative(ROOT, directory), 'package-lock.json')} is missing`);
  if (installed === undefined) return false;
  return Object.entries(wanted)
    .filter(([path, entry]) => path.startsWith('node_modules/') && !entry.optional && !entry.devOptional)
    .every(([path, { version }]) => installed[path]?.version === version);
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

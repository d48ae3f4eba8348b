import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { npm } from '../../scripts/lib/npm.mjs';
import { runOrFail, StepFailed } from '../../scripts/lib/run.mjs';

const BENCH = fileURLToPath(new URL('..', import.meta.url));

/** Installs what `bench/` is compared with, where it is missing or not what package-lock.json says. */
export async function ensurePeers() {
  if (areInstalled()) return;
  console.log('Installing the other libraries: npm ci in bench/');
  const { command, args } = npm();
  // Some say that they want a newer Node, and run on this one.
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--engine-strict=false'];
  await runOrFail(command, [...args, 'ci', '--prefix', BENCH, ...quiet], { what: 'npm ci in bench/' });
}

/** The version of an installed package. */
export const versionOf = (name) => read(`node_modules/${name}/package.json`)?.version;

function areInstalled() {
  const wanted = read('package-lock.json')?.packages;
  if (wanted === undefined) throw new StepFailed('bench/package-lock.json is missing');
  const installed = read('node_modules/.package-lock.json')?.packages;
  return (
    installed !== undefined &&
    Object.entries(wanted)
      .filter(([path, { optional }]) => path !== '' && !optional)
      .every(([path, { version }]) => installed[path]?.version === version)
  );
}

function read(file) {
  try {
    return JSON.parse(readFileSync(`${BENCH}${file}`, 'utf8'));
  } catch {
    return undefined;
  }
}

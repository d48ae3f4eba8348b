import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import { ROOT } from './paths.mjs';
import { capture, StepFailed } from './run.mjs';

const FILE = join(ROOT, 'scripts/ratchet.json');

/** The files of these folders that git tracks or that are new, by their path in the repository. */
export async function filesIn(...folders) {
  const listed = await capture('git', ['-C', ROOT, 'ls-files', '-co', '--exclude-standard', '-z', ...folders]);
  if (listed === undefined) throw new StepFailed('git ls-files failed');
  return listed.split('\0').filter((path) => path !== '');
}

/** Reads the file; `undefined` if it has been deleted and the deletion is not committed yet. */
export function readIfPresent(path) {
  try {
    return readFileSync(join(ROOT, path), 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The counts that grew beyond the numbers that are committed under `name`, and whether some numbers may be lowered. */
export function compare(name, counts) {
  const known = readRatchet()[name] ?? {};
  const grown = Object.keys(counts).filter((key) => counts[key] > (known[key] ?? 0));
  const mayShrink = Object.keys(known).some((key) => (counts[key] ?? 0) < known[key]);
  return { known, grown, mayShrink };
}

/** Commits to the numbers as they are now. Their sum may not be larger than before. */
export async function tighten(name, counts) {
  const ratchet = readRatchet();
  const sum = (numbers) => Object.values(numbers ?? {}).reduce((total, number) => total + number, 0);
  if (ratchet[name] !== undefined && sum(counts) > sum(ratchet[name])) {
    throw new StepFailed(`${name}: ${sum(counts)} in all, but the sum may only shrink from ${sum(ratchet[name])}.`);
  }
  const sorted = Object.entries(counts)
    .filter(([, number]) => number > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const json = JSON.stringify({ ...ratchet, [name]: Object.fromEntries(sorted) });
  writeFileSync(FILE, await format(json, { parser: 'json', printWidth: 20 }));
}

const readRatchet = () => JSON.parse(readIfPresent('scripts/ratchet.json') ?? '{}');

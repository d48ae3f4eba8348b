import { join } from 'node:path';
import { capture, StepFailed } from './run.mjs';
import { npm } from './npm.mjs';
import { ROOT } from './paths.mjs';

/** Packs what has been built as npm would publish it, and tells the path of the tarball. */
export async function packTarball(directory) {
  const { command, args } = npm();
  const output = await capture(command, [...args, 'pack', ROOT, '--json', '--pack-destination', directory]);
  const packed = JSON.parse(output ?? '[]');
  const [{ filename } = {}] = Array.isArray(packed) ? packed : Object.values(packed);
  if (filename === undefined) throw new StepFailed('npm pack failed');
  return join(directory, filename);
}

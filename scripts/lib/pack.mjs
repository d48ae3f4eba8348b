import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { npm } from './npm.mjs';
import { ROOT } from './paths.mjs';
import { packedManifest, readManifest, repositoryOf, withAbsoluteLinks } from './repository.mjs';
import { capture, StepFailed } from './run.mjs';

/**
 * Packs the built files as they are published, and returns the path of the tarball, its size in bytes and its files.
 * The README in it has absolute links, once `repository` of package.json is set.
 */
export async function packTarball(directory) {
  const staged = mkdtempSync(join(tmpdir(), 'locks-package-'));
  try {
    const { files } = await npmPack(ROOT, '--dry-run');
    for (const { path } of files) {
      mkdirSync(dirname(join(staged, path)), { recursive: true });
      cpSync(join(ROOT, path), join(staged, path));
    }
    rewrite(staged);
    const packed = await npmPack(staged, '--pack-destination', directory);
    return { path: join(directory, packed.filename), size: packed.size, files: packed.files.map(({ path }) => path) };
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function rewrite(staged) {
  const manifest = readManifest();
  writeFileSync(join(staged, 'package.json'), `${JSON.stringify(packedManifest(manifest), undefined, 2)}\n`);
  const address = repositoryOf(manifest);
  if (address === undefined) return;
  const readme = join(staged, 'README.md');
  const links = { page: 'README.md', address, ref: `v${manifest.version}` };
  writeFileSync(readme, withAbsoluteLinks(readFileSync(readme, 'utf8'), links));
}

async function npmPack(directory, ...options) {
  const { command, args } = npm();
  const output = await capture(command, [...args, 'pack', directory, '--json', '--ignore-scripts', ...options]);
  const packed = JSON.parse(output ?? '[]');
  const [result] = Array.isArray(packed) ? packed : Object.values(packed);
  if (result === undefined) throw new StepFailed('npm pack failed');
  return result;
}

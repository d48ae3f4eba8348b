// Whether the package can be published: its size, its exports and its types. npm run check:package
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packTarball } from './lib/pack.mjs';
import { ROOT } from './lib/paths.mjs';
import { runAsScript, runOrFail, StepFailed } from './lib/run.mjs';

const MOST_BYTES = 248_000;
const MOST_FILES = 70;

await runAsScript(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'locks-check-'));
  try {
    const { path, size, files } = await packTarball(directory);
    console.log(`The package has ${size} bytes and ${files.length} files.`);
    if (size > MOST_BYTES) throw new StepFailed(`The package may have ${MOST_BYTES} bytes.`);
    if (files.length > MOST_FILES) throw new StepFailed(`The package may have ${MOST_FILES} files.`);
    const bin = (name) => join(ROOT, 'node_modules/.bin', name);
    await runOrFail(bin('publint'), ['--strict', path], { what: 'publint' });
    await runOrFail(bin('attw'), [path, '--format', 'ascii'], { what: 'attw' });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

// Packs the built library for the registry: npm run pack -- --help
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packTarball } from './lib/pack.mjs';
import { readManifest, requireRepository } from './lib/repository.mjs';
import { runAsScript, StepFailed } from './lib/run.mjs';

const USAGE = `npm run pack -- [--to DIRECTORY] [--release TAG]

  --to       where to put the tarball; dist without it
  --release  refuses to pack unless TAG is that of the version in package.json, and "repository" is set there`;

await runAsScript(async () => {
  const { values } = parseArgs({
    options: {
      to: { type: 'string', default: 'dist' },
      release: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  if (values.release !== undefined) {
    requireRepository();
    const { version } = readManifest();
    if (values.release !== `v${version}`) {
      throw new StepFailed(`The tag is ${values.release}, but package.json has version ${version}.`);
    }
  }
  mkdirSync(values.to, { recursive: true });
  const { path, size, files } = await packTarball(resolve(values.to));
  console.log(`${path}: ${size} bytes, ${files.length} files`);
});

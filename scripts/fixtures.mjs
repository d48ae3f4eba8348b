// Small applications install the package as npm would publish it, and use it: npm run test:package -- --help
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { tell } from './lib/counts.mjs';
import { Fixture, FIXTURES } from './lib/fixture.mjs';
import { findNode } from './lib/node-versions.mjs';
import { packTarball } from './lib/pack.mjs';
import { Registry } from './lib/registry.mjs';
import { runAsScript, StepFailed } from './lib/run.mjs';
import { ensureAll } from './setup.mjs';

const USAGE = `npm run test:package -- [--node 20,22,24] [--only NAME,NAME] [--registry] [--keep]

  --node   on these versions of Node, which npx fetches; without it, on the version that runs this
  --only   of ${FIXTURES.join(', ')}
  --registry   publishes the package in a registry on this machine, and installs it from there
  --keep   leaves the installed applications where they are, and says where`;

const AT_ONCE = 2;

async function test(args) {
  const { only, versions, registry: published, keep, help } = readOptions(args);
  if (help) return console.log(USAGE);
  const redis = await ensureAll();
  const nodes = [];
  for (const version of versions) nodes.push(await findNode(version));
  await build();
  const directory = mkdtempSync(join(tmpdir(), 'locks-fixtures-'));
  let registry;
  try {
    const tarball = (await packTarball(directory)).path;
    if (published) registry = await Registry.start(directory);
    await registry?.publish(tarball);
    const context = { redis, nodes, directory, tarball, registry: registry?.url };
    const results = [];
    const waiting = [...only];
    const work = async () => {
      for (let name; (name = waiting.shift());) results.push(...(await new Fixture(name, context).run()));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const sum = (count) => results.reduce((total, result) => total + result[count], 0);
    return tell({ passed: sum('passed'), failed: sum('failed') });
  } finally {
    await registry?.stop();
    if (keep) console.log(`The applications are in ${directory}`);
    else rmSync(directory, { recursive: true, force: true });
  }
}

function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      node: { type: 'string' },
      only: { type: 'string', default: FIXTURES.join(',') },
      registry: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const only = values.only.split(',');
  const unknown = only.filter((name) => !FIXTURES.includes(name));
  if (unknown.length > 0) throw new StepFailed(`There is no ${unknown.join(', ')}.\n${USAGE}`);
  return { ...values, only, versions: values.node?.split(',') ?? [undefined] };
}

await runAsScript(() => test(process.argv.slice(2)));

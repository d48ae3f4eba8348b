// Makes the commit and the tag of a release from the changelog: npm run release. Nothing leaves this machine: the tag, once
// it is pushed, starts the workflow that publishes the package.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { notesOf, unreleasedVersion, withDate } from './lib/changelog.mjs';
import { npm } from './lib/npm.mjs';
import { ROOT } from './lib/paths.mjs';
import { requireRepository } from './lib/repository.mjs';
import { capture, runAsScript, runOrFail, StepFailed } from './lib/run.mjs';

const CHANGELOG = join(ROOT, 'CHANGELOG.md');

async function release() {
  requireRepository();
  const changelog = readFileSync(CHANGELOG, 'utf8');
  const version = unreleasedVersion(changelog);
  if (version === undefined) throw new StepFailed('CHANGELOG.md has no heading "## 1.2.3 - unreleased".');
  if (notesOf(changelog, version) === '') throw new StepFailed(`CHANGELOG.md says nothing of ${version}.`);
  await checkRepository(`v${version}`);
  await runOrFail('bash', ['.ci/run'], { what: 'The checks' });

  writeFileSync(CHANGELOG, withDate(changelog, new Date().toISOString().slice(0, 10)));
  const { command, args } = npm();
  await runOrFail(command, [...args, 'version', version, '--no-git-tag-version', '--allow-same-version']);
  await runOrFail('git', ['commit', '--quiet', '-m', version, 'CHANGELOG.md', 'package.json', 'package-lock.json']);
  await runOrFail('git', ['tag', '-a', `v${version}`, '-m', version]);
  console.log(`\nThe commit and the tag v${version} are made. To publish it:\n  git push --follow-tags`);
}

async function checkRepository(tag) {
  const git = (...args) => capture('git', ['-C', ROOT, ...args]);
  if ((await git('status', '--porcelain')) !== '') throw new StepFailed('There are changes that are not committed.');
  if ((await git('branch', '--show-current'))?.trim() !== 'main') throw new StepFailed('Releases are made on main.');
  if ((await git('tag', '--list', tag))?.trim() !== '') throw new StepFailed(`There is a tag ${tag} already.`);
}

await runAsScript(release);

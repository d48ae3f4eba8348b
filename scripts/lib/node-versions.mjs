import { dirname } from 'node:path';
import { npm } from './npm.mjs';
import { capture, StepFailed } from './run.mjs';

/** A Node of that major version, `{ version, directory }`, fetched by npx; without one, the Node that runs this. */
export async function findNode(major) {
  if (major === undefined) return { version: process.versions.node, directory: dirname(process.execPath) };
  const { command, args } = npm();
  const tellPath = ['node', '-p', 'process.versions.node + " " + process.execPath'];
  const output = await capture(command, [...args, 'exec', '--yes', '--package', `node@${major}`, '--', ...tellPath]);
  const [, version, path] = /^(\S+) (.+)$/m.exec(output?.trim() ?? '') ?? [];
  if (version?.split('.')[0] !== major) throw new StepFailed(`npx cannot fetch Node ${major}`);
  return { version, directory: dirname(path) };
}

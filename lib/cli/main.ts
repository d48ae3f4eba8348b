#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { COMMANDS, type Topic } from './command-table.js';
import { usage } from './usage.js';

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const args = process.argv.slice(2);
const topic = Object.keys(COMMANDS).find((name) => name === args[0]) as Topic | undefined;
const [option, ...rest] = topic === undefined ? args : args.slice(1);

if ((option === '--help' || option === '-h') && rest.length === 0) {
  process.stdout.write(usage(topic));
} else {
  // The help does not load the clients of Redis, which take most of the start.
  void import('./run.js').then(async ({ run }) => {
    const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(manifest) as { version: string };
    process.exitCode = await run(args, process.env, version);
  });
}

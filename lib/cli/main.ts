#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { run } from './run.js';

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
const { version } = JSON.parse(manifest) as { version: string };
process.exitCode = await run(process.argv.slice(2), process.env, version);

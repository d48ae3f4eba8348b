import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const pathOf = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url));

it('docs/design.md names the files through which a call passes, and no other', async () => {
  const design = readFileSync(pathOf('docs/design.md'), 'utf8');
  const [, block = ''] =
    /\*\*From a template to the Redis command\.\*\*[^`]*`EVALSHA`.*?```\n(.*?)```/s.exec(design) ?? [];
  const named = new Set([...block.matchAll(/^ {2}(\S+\.ts)/gm)].map(([, file]) => file!));
  const { stdout } = await promisify(execFile)(process.execPath, [pathOf('scripts/path-of-a-call.mjs'), '--files']);
  expect([...named].sort()).toEqual(stdout.trim().split('\n').sort());
}, 120_000);

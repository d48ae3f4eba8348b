import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const pathOf = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
const [, map = ''] = readFileSync(pathOf('CONTRIBUTING.md'), 'utf8').split('| you want to change | look in |');
const rows = map.split('\n\n')[0]!.split('\n').slice(2);

it('the map of CONTRIBUTING.md names places that exist, and symbols where it says', () => {
  expect(rows.length).toBeGreaterThan(30);
  const wrong: string[] = [];
  for (const row of rows) {
    const place = row.split(' | ')[1] ?? '';
    for (const [, path] of place.matchAll(/`((?:lib|lua|test|scripts|docs|examples)\/[^`*]*)`/g)) {
      if (!existsSync(pathOf(path!))) wrong.push(path!);
    }
    for (const [, symbols, file] of place.matchAll(/((?:`\w+`(?:, | and )?)+) in `([^`*]+\.ts)`/g)) {
      const source = readFileSync(pathOf(file!), 'utf8');
      for (const [, symbol] of symbols!.matchAll(/`(\w+)`/g)) {
        if (!new RegExp(`(?:class|interface|function|const|type|get) ${symbol!}\\b`).test(source))
          wrong.push(`${symbol!} in ${file!}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

it('docs/design.md names the files through which a call passes, and no other', async () => {
  const design = readFileSync(pathOf('docs/design.md'), 'utf8');
  const [, block = ''] =
    /\*\*From a template to the Redis command\.\*\*[^`]*`EVALSHA`.*?```\n(.*?)```/s.exec(design) ?? [];
  const named = new Set([...block.matchAll(/^ {2}(\S+\.ts)/gm)].map(([, file]) => file!));
  const { stdout } = await promisify(execFile)(process.execPath, [pathOf('scripts/path-of-a-call.mjs'), '--files']);
  expect([...named].sort()).toEqual(stdout.trim().split('\n').sort());
}, 120_000);

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const [, map = ''] = readFileSync(`${root}CONTRIBUTING.md`, 'utf8').split('| you want to change | look in |');
const rows = map.split('\n\n')[0]!.split('\n').slice(2);

it('the map of CONTRIBUTING.md names places that exist, and symbols where it says', () => {
  expect(rows.length).toBeGreaterThan(30);
  const wrong: string[] = [];
  for (const row of rows) {
    const place = row.split(' | ')[1] ?? '';
    for (const [, path] of place.matchAll(/`((?:lib|lua|test|scripts|docs|examples)\/[^`*]*)`/g)) {
      if (!existsSync(root + path!)) wrong.push(path!);
    }
    for (const [, symbols, file] of place.matchAll(/((?:`\w+`(?:, | and )?)+) in `([^`*]+\.ts)`/g)) {
      const source = readFileSync(root + file!, 'utf8');
      for (const [, symbol] of symbols!.matchAll(/`(\w+)`/g)) {
        if (!new RegExp(`(?:class|interface|function|const|type|get) ${symbol!}\\b`).test(source))
          wrong.push(`${symbol!} in ${file!}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

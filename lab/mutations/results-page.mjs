import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/lib/paths.mjs';

const PAGE = join(ROOT, 'lab/mutations/results.md');
const HEAD = `# Results

Written by \`npm run mutations\`. Each row says what found the mutation, after how long, and when and at which commit
that was measured. A run replaces the rows of the mutations that it tries.

| mutation | laboratory | what is changed | found by | after | measured |
|---|---|---|---|---|---|
`;

/** The committed page with the newest result of each mutation. */
export class ResultsPage {
  #rows = new Map();
  #measured;

  /** @param {Record<string, readonly import('./mutate.mjs').Mutation[]>} lists the mutations of each laboratory */
  constructor(lists) {
    const known = new Map(
      (existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '').split('\n').map((row) => [keyOf(row), row]),
    );
    for (const [laboratory, mutations] of Object.entries(lists)) {
      for (const { name, what } of mutations) {
        const start = startOf(laboratory, name);
        this.#rows.set(start, known.get(start) ?? `${start} ${what} | not tried yet | | |`);
      }
    }
    const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
    this.#measured = `${new Date().toISOString().slice(0, 10)}, ${commit}`;
  }

  /** Writes the page with the result of one mutation, and returns its row. */
  write(laboratory, { name, what }, { isFound, by, after }) {
    const start = startOf(laboratory, name);
    const found = `${isFound ? '' : '**not found**: '}${by}`.replaceAll('|', '\\|');
    const row = `${start} ${what} | ${found} | ${after.toFixed(0)} s | ${this.#measured} |`;
    this.#rows.set(start, row);
    writeFileSync(PAGE, `${HEAD}${[...this.#rows.values()].join('\n')}\n`);
    return row;
  }
}

const startOf = (laboratory, name) => `| \`${name}\` | ${laboratory} |`;

const keyOf = (row) => row.split('|').slice(0, 3).join('|') + '|';

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { FAULTS } from '../../lab/reliability/faults/index.mjs';
import { page } from '../../lab/reliability/report/write.mjs';
import { SCENARIOS } from '../../lab/reliability/scenarios.mjs';

const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

interface Results {
  readonly results: ReadonlyArray<{ readonly fault: string; readonly problems: readonly string[] }>;
}

describe('lab/reliability/results/results.md', () => {
  it('matches the results', () => {
    expect(readFileSync(pathOf('lab/reliability/results/results.md'), 'utf8')).toBe(page());
  });

  it('has results of all faults on all topologies, without failures', () => {
    for (const topology of new Set(SCENARIOS.map((scenario) => scenario.topology))) {
      const { results } = JSON.parse(
        readFileSync(pathOf(`lab/reliability/results/${topology}.json`), 'utf8'),
      ) as Results;
      const wanted = SCENARIOS.filter((scenario) => scenario.topology === topology).map(({ fault }) => fault);
      expect([topology, results.map(({ fault }) => fault)]).toEqual([topology, wanted]);
      expect(results.flatMap(({ problems }) => problems)).toEqual([]);
    }
  });

  it('names existing tests and faults', () => {
    expect(SCENARIOS.filter(({ test }) => !existsSync(pathOf(test)))).toEqual([]);
    expect(SCENARIOS.filter(({ fault }) => !(fault in FAULTS))).toEqual([]);
  });
});

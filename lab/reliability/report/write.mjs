import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SCENARIOS } from '../scenarios.mjs';
import { TOPOLOGIES } from '../topologies/index.mjs';
import { table } from './table.mjs';

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));

/** Writes a file of results for each topology that was measured; faults that were not keep the results that they had. */
export function writeResults(results, { installation }) {
  for (const topology of new Set(results.map((result) => result.topology))) {
    const measured = results.filter((result) => result.topology === topology);
    const others = resultsOf(topology).filter(({ fault }) => measured.every((result) => result.fault !== fault));
    const content = {
      measured: new Date().toISOString().slice(0, 10),
      redis: installation.version,
      node: process.version,
      cores: cpus().length,
      results: [...measured, ...others].sort((a, b) => placeOf(a) - placeOf(b)),
    };
    writeFileSync(join(RESULTS, `${topology}.json`), `${JSON.stringify(content, null, 2)}\n`);
  }
}

/** Writes the table of all results. */
export function writeTables() {
  writeFileSync(join(RESULTS, 'results.md'), page());
}

/** results.md as it has to be by the results. */
export const page = () => `# Results\n\n${generated({ root: '../../../' })}`;

const isKnown = (topology) => readdirSync(RESULTS).includes(`${topology}.json`);
const read = (topology) => JSON.parse(readFileSync(join(RESULTS, `${topology}.json`), 'utf8'));
const resultsOf = (topology) => (isKnown(topology) ? read(topology).results : []);
const placeOf = ({ topology, fault }) =>
  SCENARIOS.findIndex((each) => each.topology === topology && each.fault === fault);

function generated({ root }) {
  const files = Object.keys(TOPOLOGIES).filter(isKnown).map(read);
  const machines = new Set(
    files.map(({ measured, redis, node, cores }) => `${measured}, Redis ${redis}, Node ${node}, ${cores} cores`),
  );
  const results = files.flatMap((file) => file.results);
  return `Measured: ${[...machines].join('; ')}.\n\n${table(results, { root })}\n`;
}

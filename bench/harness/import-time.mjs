import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { median } from './statistics.mjs';

const start = promisify(execFile);

/** The code that imports a package in each format, and the flag that it needs. */
const FORMATS = {
  esm: { type: 'module', load: (name) => `await import(${JSON.stringify(name)});` },
  cjs: { type: 'commonjs', load: (name) => `require(${JSON.stringify(name)});` },
};

/**
 * Medians of the time, in ms, that importing each package takes in a process that has just started and has the `base`
 * loaded. The packages take turns, so that other load on the machine affects all of them alike. A name that is
 * `undefined` measures the base itself, from nothing. A format in which a package cannot be loaded is left out.
 */
export async function measureImports({ names, base, directory, starts }) {
  const times = new Map(names.map((name) => [name, { esm: [], cjs: [] }]));
  for (let turn = 0; turn < starts; turn++) {
    for (const name of names) {
      for (const format of Object.keys(FORMATS)) {
        const took = await importOnce({ name, base, format, directory });
        if (took !== undefined) times.get(name)[format].push(took);
      }
    }
  }
  const isWhole = (all) => all.length === starts;
  const summary = ({ esm, cjs }) => ({
    esm: isWhole(esm) ? median(esm) : undefined,
    cjs: isWhole(cjs) ? median(cjs) : undefined,
  });
  return new Map([...times].map(([name, all]) => [name, summary(all)]));
}

async function importOnce({ name, base, format, directory }) {
  const { type, load } = FORMATS[format];
  const timed = name === undefined ? base : [name];
  const before = name === undefined ? [] : base;
  const code = `${before.map(load).join('')} const began = performance.now(); ${timed.map(load).join('')}
    console.log(performance.now() - began); process.exit();`;
  try {
    const { stdout } = await start(process.execPath, [`--input-type=${type}`, '-e', code], { cwd: directory });
    return Number(stdout);
  } catch {
    return undefined;
  }
}

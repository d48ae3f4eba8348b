// Writes the figures of a complete run into the documentation: npm run bench:glance, or with --check only compares
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runAsScript, StepFailed } from '../scripts/lib/run.mjs';
import { glance, isForGlance, slowNetwork } from './report/glance.mjs';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const RESULTS = 'bench/results/results.json';
const MARKED = /(<!-- begin of what `npm run bench:glance` writes -->\n)(.*?)(<!-- end of what it writes -->)/s;
const SLOW_NETWORK = /^In one \[benchmark\].*?(?=\n\n)/ms;
const CHARTS = ['hot-key.svg', 'growth.svg'];

/** Each file with the text that it should have by the results. */
function documents(results) {
  const performance = readFileSync(at('docs/performance.md'), 'utf8');
  const comparison = readFileSync(at('docs/comparison.md'), 'utf8');
  if (!MARKED.test(performance)) throw new StepFailed('docs/performance.md has lost the marks around its table.');
  if (!SLOW_NETWORK.test(comparison))
    throw new StepFailed('docs/comparison.md has lost its paragraph "In one [benchmark] …".');
  return {
    'docs/performance.md': performance.replace(MARKED, (_, begin, __, end) => `${begin}\n${glance(results)}\n${end}`),
    'docs/comparison.md': comparison.replace(SLOW_NETWORK, () => slowNetwork(results)),
    ...Object.fromEntries(
      CHARTS.map((name) => [`docs/images/${name}`, readFileSync(at(`bench/results/${name}`), 'utf8')]),
    ),
  };
}

await runAsScript(async () => {
  const results = JSON.parse(readFileSync(at(RESULTS), 'utf8'));
  const isCheck = process.argv.includes('--check');
  if (!isForGlance(results)) {
    const why = `${RESULTS} is not from a complete run of this benchmark. Run \`npm run bench -- --all\` first.`;
    if (!isCheck) throw new StepFailed(why);
    return console.log(`Not checked: ${why}`);
  }
  const stale = Object.entries(documents(results)).filter(([path, text]) => readFileSync(at(path), 'utf8') !== text);
  if (isCheck && stale.length > 0) {
    throw new StepFailed(`Not up to date: ${stale.map(([path]) => path).join(', ')}. Run \`npm run bench:glance\`.`);
  }
  for (const [path, text] of stale) writeFileSync(at(path), text);
  console.log(stale.length > 0 ? `Written: ${stale.map(([path]) => path).join(', ')}` : 'Up to date.');
});

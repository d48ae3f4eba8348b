// Fails if a file has more lines than a reader keeps in mind: npm run check:length
import { compare, filesIn, readIfPresent, tighten } from './lib/ratchet.mjs';
import { runAsScript, StepFailed } from './lib/run.mjs';

const MOST_LINES = 300;
const FOLDERS = ['lib', 'lua', 'testbed'];
/**
 * Generated modules, and the page of the dashboard: its style sheet is a list of rules that no reader goes through in
 * order.
 */
const EXCEPTED = /\.generated\.ts$|^lib\/dashboard\/page\//;

await runAsScript(async () => {
  const lengths = {};
  for (const path of await filesIn(...FOLDERS)) {
    const lines = (readIfPresent(path)?.split('\n').length ?? 1) - 1;
    if (lines > MOST_LINES && !EXCEPTED.test(path)) lengths[path] = lines;
  }
  if (process.argv.includes('--update')) return tighten('length', lengths);
  const { known, grown, mayShrink } = compare('length', lengths);
  if (mayShrink) console.log('Some long files got shorter: `npm run check:length -- --update` lowers their limits.');
  if (grown.length === 0) return;
  const offenders = grown.map((path) => `  ${path}: ${lengths[path]} lines, at most ${known[path] ?? MOST_LINES}`);
  throw new StepFailed(`Divide these files by what they do:\n${offenders.join('\n')}`);
});

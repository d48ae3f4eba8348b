import { tell } from './lib/counts.mjs';
import { runJest } from './lib/jest.mjs';
import { findPromtool, PROMTOOL_VARIABLE } from './lib/promtool.mjs';
import { runAsScript } from './lib/run.mjs';
import { ensureAll } from './setup.mjs';

/** The alert rules in promtool, on metrics that the library has recorded. */
async function test(args) {
  const promtool = findPromtool();
  const { installation } = await ensureAll();
  const { code, ...counts } = await runJest(['--config', 'jest.alerts.config.js', ...args], installation, {
    [PROMTOOL_VARIABLE]: promtool,
  });
  return tell(counts) || code;
}

await runAsScript(() => test(process.argv.slice(2)));

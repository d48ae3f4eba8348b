import { CHROMIUM_VARIABLE, findChromium } from './lib/chromium.mjs';
import { tell } from './lib/counts.mjs';
import { runJest } from './lib/jest.mjs';
import { runAsScript } from './lib/run.mjs';
import { ensureAll } from './setup.mjs';

const SCREENSHOTS = '--screenshots';

/** The page in a real browser. With --screenshots, the pictures in docs/images are made anew; the rest is Jest's. */
async function test(args) {
  const { installation } = await ensureAll();
  // It needs the packages that are installed by now.
  const { checkGenerated } = await import('./generate-dashboard.mjs');
  checkGenerated();
  const env = {
    [CHROMIUM_VARIABLE]: findChromium(),
    ...(args.includes(SCREENSHOTS) ? { LOCKS_SCREENSHOTS: '1' } : {}),
  };
  const jestArguments = ['--config', 'jest.browser.config.js', ...args.filter((each) => each !== SCREENSHOTS)];
  const { code, ...counts } = await runJest(jestArguments, installation, env);
  return tell(counts) || code;
}

await runAsScript(() => test(process.argv.slice(2)));

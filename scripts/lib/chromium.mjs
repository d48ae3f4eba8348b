import { delimiter, join } from 'node:path';
import { isExecutable } from './executable.mjs';
import { StepFailed } from './run.mjs';

/** In this variable a browser can be named that is not on the PATH. */
export const CHROMIUM_VARIABLE = 'CHROMIUM_PATH';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/**
 * The path of Chromium: the value of `CHROMIUM_PATH`, else the one on the PATH.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string}
 */
export function findChromium(env = process.env) {
  const named = env[CHROMIUM_VARIABLE];
  if (named) {
    if (isExecutable(named)) return named;
    throw new StepFailed(`${CHROMIUM_VARIABLE} is ${named}, which is no program`);
  }
  const paths = (env.PATH ?? '').split(delimiter).flatMap((directory) => NAMES.map((name) => join(directory, name)));
  const found = paths.find(isExecutable);
  if (found !== undefined) return found;
  throw new StepFailed(
    `No Chromium on the PATH (${NAMES.join(', ')}): install one, such as with \`apt-get install chromium\`, ` +
      `or name it in ${CHROMIUM_VARIABLE}.`,
  );
}

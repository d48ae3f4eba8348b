import { delimiter, join } from 'node:path';
import { isExecutable } from './executable.mjs';
import { StepFailed } from './run.mjs';

/** In this variable a promtool can be named that is not on the PATH. */
export const PROMTOOL_VARIABLE = 'PROMTOOL_PATH';

/**
 * The path of promtool: the value of `PROMTOOL_PATH`, else the one on the PATH.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string}
 */
export function findPromtool(env = process.env) {
  const named = env[PROMTOOL_VARIABLE];
  if (named) {
    if (isExecutable(named)) return named;
    throw new StepFailed(`${PROMTOOL_VARIABLE} is ${named}, which is no program`);
  }
  const paths = (env.PATH ?? '').split(delimiter).map((directory) => join(directory, 'promtool'));
  const found = paths.find(isExecutable);
  if (found !== undefined) return found;
  throw new StepFailed(
    'No promtool on the PATH: install it with `apt-get install prometheus`, ' +
      `or take it out of the package and name it in ${PROMTOOL_VARIABLE}: ` +
      '`apt-get download prometheus && dpkg-deb -x prometheus_*.deb DIRECTORY` (DIRECTORY/usr/bin/promtool).',
  );
}

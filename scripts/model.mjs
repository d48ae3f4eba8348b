import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHECKS, PROPERTIES } from '../lab/model/checks.mjs';
import { tell } from './lib/counts.mjs';
import { ROOT } from './lib/paths.mjs';
import { capture } from './lib/run.mjs';

const execute = promisify(execFile);

const MEGABYTES = 2_000;
/** ms; on a machine with nothing else to do each takes less than a minute. */
const MOST_TIME = 600_000;
/** Of the search, in steps. */
const DEPTH = 2_000_000;

const COMPILERS = ['cc', 'gcc', 'clang'];

/** Checks the models of the protocol with spin. An argument picks the models with this text in their file or name. */
async function main([part = '']) {
  const compiler = await firstThatRuns(COMPILERS);
  if (compiler === undefined || (await capture('spin', ['-V'])) === undefined) {
    console.error('NOT RUN: the models are checked with spin and a C compiler, and one of them is not on the PATH.');
    console.error('Debian, Ubuntu: apt-get install spin gcc    macOS: brew install spin    else: https://spinroot.com');
    return 1;
  }
  const counts = { passed: 0, failed: 0 };
  for (const check of CHECKS.filter(({ file, name }) => `${file} ${name}`.includes(part))) {
    const result = await inTemporaryDirectory((directory) => runCheck(check, directory, compiler));
    const isExpected = result.outcome === (check.fails ?? 'holds');
    counts[isExpected ? 'passed' : 'failed'] += 1;
    console.log(lineOf(check, result, isExpected));
  }
  return tell(counts);
}

async function firstThatRuns(commands) {
  for (const command of commands) if ((await capture(command, ['--version'])) !== undefined) return command;
  return undefined;
}

async function inTemporaryDirectory(work) {
  const directory = await mkdtemp(join(tmpdir(), 'lock-model-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runCheck({ file, defines, liveness = false }, directory, compiler) {
  const began = performance.now();
  const options = Object.entries(defines).map(([name, value]) => `-D${name}=${value}`);
  try {
    await execute('spin', ['-a', ...options, join(ROOT, 'lab/model', file)], { cwd: directory });
    // Fairness counts processes: three bits of it are enough for all of these.
    const kind = liveness ? ['-DNFAIR=3'] : ['-DSAFETY', '-DNOCLAIM'];
    const build = ['-O1', '-w', '-DCOLLAPSE', `-DMEMLIM=${MEGABYTES}`, ...kind, '-o', 'pan', 'pan.c'];
    await execute(compiler, build, { cwd: directory });
    const search = [`-m${DEPTH}`, ...(liveness ? ['-a', '-f'] : [])];
    const { stdout } = await execute(join(directory, 'pan'), search, {
      cwd: directory,
      timeout: MOST_TIME,
      maxBuffer: 1e8,
    });
    return { ...resultOf(stdout), seconds: (performance.now() - began) / 1_000 };
  } catch (error) {
    return { outcome: `did not end: ${error.message.split('\n')[0]}`, seconds: (performance.now() - began) / 1_000 };
  }
}

function resultOf(output) {
  const states = Number(/(\d+(?:\.\d+)?(?:e\+\d+)?) states, stored/.exec(output)?.[1]);
  const depth = Number(/depth reached (\d+)/.exec(output)?.[1]);
  return { states, depth, outcome: outcomeOf(output) };
}

function outcomeOf(output) {
  // A search that was cut off has found nothing, and shows nothing.
  if (/Search not completed|max search depth too small|out of memory/.test(output) && !/errors: [1-9]/.test(output)) {
    return 'not completed';
  }
  if (/errors: 0/.test(output)) return 'holds';
  const error = /^pan:\d+: (.*)$/m.exec(output)?.[1] ?? 'no result';
  return PROPERTIES.find(([pattern]) => pattern.test(error))?.[1] ?? error;
}

function lineOf({ file, name }, { states, depth, seconds, outcome }, isExpected) {
  const figures = states === undefined ? '' : `${states} states, depth ${depth}, `;
  const verdict = isExpected ? 'as expected' : 'NOT AS EXPECTED';
  return `${file.padEnd(12)} ${name.padEnd(44)} ${figures}${seconds.toFixed(1)} s: ${outcome}, ${verdict}`;
}

process.exitCode = await main(process.argv.slice(2));

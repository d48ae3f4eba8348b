import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { ROOT } from './paths.mjs';

/** A failure whose message is all that the user has to read: no stack trace. */
export class StepFailed extends Error {}

/** Runs a command in the project's root with our own input and output; resolves to its exit code. */
export function run(command, args, { env = {}, stdio = 'inherit' } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio, env: { ...process.env, ...env } });
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? (signal ? 1 : 0)));
  });
}

/** As `run`, but anything but success is an error. */
export async function runOrFail(command, args, { what = [command, ...args].join(' '), ...options } = {}) {
  const code = await run(command, args, options);
  if (code !== 0) throw new StepFailed(`${what} failed (exit code ${code})`);
}

/** Runs a command without showing what it prints, unless it fails; resolves to its exit code. */
export function runQuietly(command, args, { env = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code !== 0) process.stderr.write(output);
      resolve(code ?? 1);
    });
  });
}

/** Runs a command and returns its output, or `undefined` if it is missing or fails. */
export function capture(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.once('error', () => resolve(undefined));
    child.once('close', (code) => resolve(code === 0 ? output : undefined));
  });
}

/**
 * The options of a command line by their names: texts and flags, and `help`; with `words`, the other words in `positionals`.
 * @throws StepFailed with the usage for arguments that cannot be read
 */
export function readArguments(args, usage, { texts, flags = [], words = false }) {
  const named = (type) => (name) => [name, { type }];
  const options = Object.fromEntries([...texts.map(named('string')), ...[...flags, 'help'].map(named('boolean'))]);
  try {
    return parseArgs({ args, options, allowPositionals: words });
  } catch (error) {
    throw new StepFailed(`${error.message}\n\n${usage}`);
  }
}

/** Runs `main` as a script: its exit code becomes ours, an expected failure is one line. */
export async function runAsScript(main) {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    console.error(error instanceof StepFailed ? error.message : error);
    process.exitCode = 1;
  }
}

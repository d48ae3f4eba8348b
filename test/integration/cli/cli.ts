import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { run } from '../../../lib/cli/run.js';
import { SHORT_LIVED } from '../../../scripts/lib/short-lived.mjs';

const ROOT = new URL('../../../', import.meta.url);

/** The program of the package: `bin` of package.json, in the built package. */
export const manifest = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  version: string;
  bin: Record<'nestjs-redis-locks', string>;
};
const PROGRAM = fileURLToPath(new URL(manifest.bin['nestjs-redis-locks'], ROOT));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run of the program that ends by itself, in this process: a process of its own takes half a second to start. */
export async function cli(url: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliResult> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof written) => ({
    ...{ isTTY: false, columns: 0, rows: 0 },
    write: (text: string | Uint8Array) => {
      written[name] += String(text);
      return true;
    },
  });
  const streams = { stdout: stream('stdout'), stderr: stream('stderr') };
  const code = await run(args, { REDIS_URL: url, ...env }, manifest.version, streams);
  return { code, ...written };
}

/** The same in a process of its own. */
export const program = (url: string, args: readonly string[]): Promise<CliResult> => new CliProcess(url, args).ended;

/** A process of the program. */
export class CliProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<CliResult>;
  private readonly child: ChildProcess;

  constructor(url: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(process.execPath, [...SHORT_LIVED, PROGRAM, ...args], {
      env: { PATH: process.env['PATH'], REDIS_URL: url, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Should a test fail before it ends, the process does not outlive it.
      timeout: 120_000,
    });
    this.child.stdout!.on('data', (text) => (this.stdout += String(text)));
    this.child.stderr!.on('data', (text) => (this.stderr += String(text)));
    this.ended = once(this.child, 'close').then(([code]: number[]) => ({
      code: code ?? null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

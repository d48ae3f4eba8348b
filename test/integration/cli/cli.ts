import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../', import.meta.url);

/** The program of the package: `bin` of package.json, in the built package. */
export const manifest = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  version: string;
  bin: Record<'nestjs-redis-locks', string>;
};
const program = fileURLToPath(new URL(manifest.bin['nestjs-redis-locks'], ROOT));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run of the program that ends by itself. */
export function cli(url: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliResult> {
  return new CliProcess(url, args, env).ended;
}

/** A process of the program. */
export class CliProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<CliResult>;
  private readonly child: ChildProcess;

  constructor(url: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(process.execPath, [program, ...args], {
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

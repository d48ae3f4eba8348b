import { spawn } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { npm } from './npm.mjs';
import { ROOT } from './paths.mjs';
import { readManifest } from './repository.mjs';

const DIRECTORY = join(ROOT, 'test/package/fixtures');
/** The common base of all fixtures. */
const APP = 'app';

export const FIXTURES = readdirSync(DIRECTORY).filter((name) => name.startsWith('nest-'));

const TIMEOUT = 180_000;
const QUIETLY = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
/** The results of Jest and Vitest, of node:test, and of Bun. */
const RESULTS = ['results.json', 'results.tap', 'results.xml'];

/** A small application in a copy of its own. It is installed and built once, and its tests run on each Node. */
export class Fixture {
  #name;
  #context;
  #directory;

  constructor(name, { directory, ...context }) {
    this.#name = name;
    this.#context = context;
    this.#directory = join(directory, name);
  }

  /** Resolves to `{ passed, failed }` for each Node. A fixture that cannot be installed or built is one failure. */
  async run() {
    const { tarball, nodes, redis, registry } = this.#context;
    cpSync(join(DIRECTORY, this.#name), this.#directory, { recursive: true });
    cpSync(join(DIRECTORY, APP), join(this.#directory, 'src'), { recursive: true });
    const { page, borrows = [] } = JSON.parse(readFileSync(join(this.#directory, 'package.json'), 'utf8'));
    if (page !== undefined) writeFilesOf(page, join(this.#directory, 'src'));
    for (const path of borrows) cpSync(join(ROOT, path), join(this.#directory, path), { recursive: true });
    const preparation = [
      ['ci', ...QUIETLY],
      registry === undefined
        ? ['install', '--no-save', ...QUIETLY, tarball]
        : ['install', '--no-save', ...QUIETLY, '--registry', registry, readManifest().name],
      ['run', 'build'],
    ];
    for (const step of preparation) {
      const { code, output } = await this.#npm(step, {});
      if (code !== 0) return [this.#tell(`npm ${step[0]}`, { passed: 0, failed: 1 }, output)];
    }
    const server = await redis.start();
    try {
      const results = [];
      for (const node of nodes) results.push(await this.#test(node, server));
      return results;
    } finally {
      await server.stop();
    }
  }

  async #test({ version, directory }, { url }) {
    for (const file of RESULTS) rmSync(join(this.#directory, file), { force: true });
    const began = performance.now();
    const PATH = [directory, process.env.PATH].join(delimiter);
    const { code, output } = await this.#npm(['test'], { PATH, REDIS_URL: url });
    const counts = this.#readCounts();
    // A run that ends with an error although no test failed has failed, too.
    if (code !== 0) counts.failed ||= 1;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    return this.#tell(`Node ${version}, ${seconds} s`, counts, output);
  }

  #readCounts() {
    for (const file of RESULTS) {
      let text;
      try {
        text = readFileSync(join(this.#directory, file), 'utf8');
      } catch {
        continue;
      }
      if (file.endsWith('.tap')) return { passed: numberAfter('pass', text), failed: numberAfter('fail', text) };
      if (file.endsWith('.xml')) {
        const [, tests, failed] = /<testsuites [^>]*tests="(\d+)"[^>]* failures="(\d+)"/.exec(text).map(Number);
        return { passed: tests - failed, failed };
      }
      const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites = 0 } = JSON.parse(text);
      return { passed: numPassedTests, failed: numFailedTests + numRuntimeErrorTestSuites };
    }
    return { passed: 0, failed: 1 };
  }

  #tell(what, counts, output) {
    if (counts.failed > 0) console.log(output);
    console.log(`${this.#name} (${what}): ${counts.passed} passed, ${counts.failed} failed`);
    return counts;
  }

  /** Runs npm in the application, without the variables that the npm that runs us has set. */
  #npm(args, env) {
    const { command, args: first } = npm();
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'));
    const child = spawn(command, [...first, ...args], {
      cwd: this.#directory,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...Object.fromEntries(inherited), ...env },
      timeout: TIMEOUT,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve({ code: code ?? 1, output }));
    });
  }
}

/** Writes the files that a page of the documentation shows: each begins with its name. Their servers are those of the tests. */
function writeFilesOf(page, directory) {
  const text = readFileSync(join(ROOT, page), 'utf8');
  for (const [, code, name] of text.matchAll(/^```ts\n(\/\/ ([\w.-]+\.ts)\n.*?)^```$/gms)) {
    const tested = code
      .replace("'redis://127.0.0.1:6379'", "process.env['REDIS_URL']!")
      .replace('.listen(3000)', '.listen(0, "127.0.0.1")');
    writeFileSync(join(directory, name), tested);
  }
}

const numberAfter = (name, tap) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(tap)?.[1] ?? 0);

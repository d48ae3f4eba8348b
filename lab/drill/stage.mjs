import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { RespProxy } from '../testbed/proxies/resp-proxy.mjs';
import { startRedis } from '../testbed/servers/redis-server.mjs';
import { eventually } from '../testbed/wait/eventually.mjs';
import { startWorker } from '../testbed/workers/processes.mjs';
import { Dashboard } from './dashboard.mjs';
import { GUIDE, stable } from './guide.mjs';

const PROGRAM = fileURLToPath(new URL('../../dist/esm/cli/main.js', import.meta.url));
const WORKER = new URL('./worker.mjs', import.meta.url);
/** Shows how many calls have failed because of Redis. */
export const FAILED = 'curl -s http://shop-1/metrics | grep failed_total';
/** How long a condition may take on a busy machine. */
const PATIENCE = { within: 60_000, every: 50 };

/** Runs the program, and resolves to all that it has written, as a terminal shows it. */
const runProgram = (args, url) =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, REDIS_URL: url };
    execFile(process.execPath, [PROGRAM, ...args], { env, timeout: 60_000 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });

/** Splits a command at spaces outside of quotes. */
const wordsOf = (command) => [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3]);

/** `grep WORD` and `grep -A1 WORD`, for lines. */
function grep(text, [first, ...rest]) {
  const word = first === '-A1' ? rest[0] : first;
  const lines = text.split('\n');
  const wanted = lines.flatMap((line, i) => (line.includes(word) ? [i, ...(first === '-A1' ? [i + 1] : [])] : []));
  return [...new Set(wanted)].map((i) => `${lines[i]}\n`).join('');
}

/** The servers and processes of one situation, and the eyes of an operator. */
export class Stage {
  /** The processes by their names, each with its address and its dashboard. */
  #processes = new Map();
  /** What ends with the situation, in this order. */
  #disposables = [];
  #typed = new Map();
  #guide;
  #section;
  /** The lines of the guide that were seen to be true. */
  lines = [];

  constructor(guide, section) {
    this.#guide = guide;
    this.#section = section;
  }

  /** Starts a server. The operator's commands connect to the first server. */
  async server(options) {
    const server = await startRedis(options);
    this.#disposables.unshift(server);
    this.url ??= server.url;
    return server;
  }

  async proxy(server) {
    const proxy = await RespProxy.start(server);
    this.#disposables.unshift(proxy);
    return proxy;
  }

  /** Starts a process of the application. Its leases are short, so that the drill is, and renewed on a busy machine. */
  async application(name, options = {}) {
    const worker = await startWorker(WORKER, { env: { POD_NAME: name } });
    this.#disposables.unshift(worker);
    const url = await worker.call('start', { connection: this.url, renewedLease: '9s', ...options });
    this.#processes.set(name, { worker, url, dashboard: new Dashboard(url) });
    return worker;
  }

  /** `shop-1`, which holds `stock:42`. */
  async holder(options) {
    const shop = await this.application('shop-1', options);
    await shop.call('hold', 'stock:42');
    return shop;
  }

  /** Runs a command of the guide, until its output contains all texts, and is that of the guide. */
  async shows(command, ...texts) {
    const block = this.#guide.find(this.#section, command);
    let output = '';
    try {
      await eventually(async () => {
        output = await this.#run(command);
        const fits = texts.every((text) => (text instanceof RegExp ? text.test(output) : output.includes(text)));
        return fits && (this.#guide.isWritten || stable(output) === stable(block.output));
      }, PATIENCE);
    } catch (error) {
      const wanted = `${texts.map(String).join(', ')} and, as in ${GUIDE}:${block.line}\n${stable(block.output)}`;
      throw new Error(`$ ${command}\n${stable(output)}\nwas to show ${wanted}`, { cause: error });
    }
    this.#guide.saw(block, output);
    this.lines.push(block.line);
    return output;
  }

  /** What the operator types from now on where a command of the guide has this word. */
  types(word, text) {
    this.#typed.set(word, text);
  }

  /** Waits until Redis has the label of a process, which its client writes in the background. */
  named(name) {
    return this.until(`the label of ${name}`, async () => (await runProgram(['ls'], this.url)).includes(name));
  }

  /** Waits for a condition. */
  until(what, look) {
    return eventually(look, { ...PATIENCE, what });
  }

  /** Opens the dashboard of a process. It stays open, and shows what it has read if the process does not answer. */
  opens(name) {
    return this.#processes.get(name).dashboard.read();
  }

  async #run(command) {
    const [, name, part] = /^Dashboard of (\S+?)(?:, (.*))?$/.exec(command) ?? [];
    if (name !== undefined) return this.#processes.get(name).dashboard.show(part);
    const [first, ...filters] = command.split(' | ').map(wordsOf);
    const text = await this.#outputOf(first);
    return filters.reduce((lines, [, ...args]) => grep(lines, args), text);
  }

  async #outputOf([program, ...args]) {
    switch (program) {
      case 'npx':
        return runProgram(
          args.slice(1).map((word) => this.#typed.get(word) ?? word),
          this.url,
        );
      case 'curl':
        return this.#fetched(new URL(args[1]));
      // grep TEXT NAME.log
      case 'grep':
        return grep((await this.#processes.get(args[1].replace('.log', '')).worker.call('log')).join('\n'), [args[0]]);
      default:
        throw new Error(`the drill cannot run ${program}`);
    }
  }

  /** The answer of an application to http://NAME/metrics or http://NAME/health. */
  async #fetched({ hostname, pathname }) {
    try {
      const answer = await fetch(this.#processes.get(hostname).url + pathname, { headers: { connection: 'close' } });
      return (await answer.text()).replace(/^#.*\n/gm, '');
    } catch {
      return `curl: (7) Failed to connect to ${hostname}\n`;
    }
  }

  /** Sends a request that does not end. */
  hangs(name) {
    fetch(`${this.#processes.get(name).url}/hang`).catch(() => undefined);
  }

  async end() {
    for (const disposable of this.#disposables) await disposable[Symbol.asyncDispose]();
  }
}

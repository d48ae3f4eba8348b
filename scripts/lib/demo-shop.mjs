import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { Guard } from '../../lab/testbed/servers/guard.mjs';
import { ROOT } from './paths.mjs';
import { StepFailed } from './run.mjs';

const MAIN = join(ROOT, 'dist/sample-app/main.js');
const LISTENING = /Listening on (http:\/\/[\w.:]+)/;
const START_TIMEOUT = 30_000;
const ANSWER_TIMEOUT = 30_000;
const STOP_TIMEOUT = 2_000;

/** One process of the sample app, on a free port. */
export class ShopProcess {
  #child;
  #guard = new Guard();
  #exited;
  #isEnding = false;
  #output = '';
  #url;

  constructor(name, env) {
    this.name = name;
    this.#child = spawn(process.execPath, [MAIN], {
      cwd: ROOT,
      env: { ...process.env, HOST: '127.0.0.1', PORT: '0', NO_COLOR: '1', FORCE_COLOR: undefined, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C is for the demo, which ends its processes in order.
      detached: true,
    });
    this.#exited = new Promise((resolve) => {
      const ended = (how) => {
        this.#guard.release();
        resolve(how);
      };
      this.#child.once('exit', (code, signal) => ended(signal ?? `exit code ${code}`));
      this.#child.once('error', (error) => ended(error.message));
    });
    this.#guard.watch(`kill -9 ${this.pid}`);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (this.#output = (this.#output + text).slice(-20_000)));
    }
  }

  get pid() {
    return this.#child.pid;
  }

  /** Resolves when the process answers requests. */
  async listening() {
    const signal = AbortSignal.timeout(START_TIMEOUT);
    try {
      while ((this.#url = LISTENING.exec(this.#output)?.[1]) === undefined) {
        await once(this.#child.stdout, 'data', { signal });
      }
    } catch {
      throw new StepFailed(
        `${this.name} of the sample app did not start within ${START_TIMEOUT / 1000} s:\n${this.#lastLines()}`,
      );
    }
  }

  /** Rejects if the process ends before it is asked to. */
  async crash() {
    const how = await this.#exited;
    if (this.#isEnding) return new Promise(() => {});
    throw new StepFailed(`${this.name} of the sample app has ended by itself (${how}):\n${this.#lastLines()}`);
  }

  /** Sends a request and resolves to the status and the body of its answer. */
  call(method, path, body, { agent } = {}) {
    return new Promise((resolve, reject) => {
      const payload = body === undefined ? '' : JSON.stringify(body);
      const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(payload) };
      const options = { method, agent, headers, timeout: ANSWER_TIMEOUT };
      const call = request(`${this.#url}${path}`, options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        response.once('end', () => resolve({ status: response.statusCode, body: parse(text) }));
        response.once('error', reject);
      });
      call.once('timeout', () => call.destroy(new Error(`no answer within ${ANSWER_TIMEOUT / 1000} s`)));
      call.once('error', (error) => reject(new StepFailed(`${this.name}: ${method} ${path}: ${error.message}`)));
      call.end(payload);
    });
  }

  /** Sends a request that has to succeed, and resolves to the answer. */
  async ask(method, path, body) {
    const answer = await this.call(method, path, body);
    if (answer.status < 300) return answer.body;
    const problem = `${this.name}: ${method} ${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`;
    throw new StepFailed(`${problem}\n${this.#lastLines(/ (WARN|ERROR) /)}`.trimEnd());
  }

  /** The end of the output of the process. */
  #lastLines(which = /\S/) {
    const lines = this.#output.split('\n').filter((text) => which.test(text));
    return lines.slice(-10).join('\n');
  }

  /** Ends the process as a power cut would. */
  kill() {
    this.#isEnding = true;
    this.#child.kill('SIGKILL');
  }

  /** Ends the process in order, or kills it if it does not end. */
  async stop() {
    this.#isEnding = true;
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT);
    await this.#exited;
    clearTimeout(timer);
    await this.#guard.dispose();
  }
}

/** The app answers with JSON; if it ever does not, the text is shown instead. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

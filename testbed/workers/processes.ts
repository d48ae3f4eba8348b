import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Guard } from '../servers/guard.mjs';

/** What a worker says: an answer to a call, or an event with its details. */
export interface WorkerMessage {
  readonly event?: string;
  readonly [detail: string]: unknown;
}

export interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Listener {
  predicate: (message: WorkerMessage) => boolean;
  resolve: (message: WorkerMessage) => void;
  reject: (error: Error) => void;
}

interface PlainError {
  name?: string;
  message?: string;
  [property: string]: unknown;
}

const PATIENCE = 60_000;

/**
 * Starts `file` (a script that uses `worker-kit.mjs`) as a process of its own and resolves when it is ready. It ends
 * with this process at the latest.
 */
export async function startWorker(
  file: string | URL,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<WorkerProcess> {
  const worker = new WorkerProcess(file, args, env);
  await worker.next(({ event }) => event === 'ready');
  return worker;
}

/** A child process that a test talks to, stalls and kills. */
export class WorkerProcess implements AsyncDisposable {
  private readonly child: ChildProcess;
  private readonly guard = new Guard();
  private readonly unread: WorkerMessage[] = [];
  private readonly listeners = new Set<Listener>();
  private readonly name: string;
  private callCount = 0;
  /** Resolves when the process has ended. */
  readonly exited: Promise<WorkerExit>;

  constructor(file: string | URL, args: readonly string[], env: NodeJS.ProcessEnv) {
    const path = typeof file === 'string' ? file : fileURLToPath(file);
    this.name = path.replace(/^.*\//, '');
    this.child = fork(path, args, {
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '', ...env },
      // Passes on bigint, Map and the like.
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    this.guard.watch(`kill -9 ${String(this.child.pid)}`);
    this.child.on('message', (message) => this.received(message as WorkerMessage));
    this.exited = new Promise((resolve) => {
      const ended = (code: number | null, signal: NodeJS.Signals | null): void => {
        this.guard.release();
        void this.guard.dispose();
        this.failListeners(new Error(`${this.name} ended (${signal ?? `exit code ${String(code)}`})`));
        resolve({ code, signal });
      };
      this.child.once('exit', ended);
      this.child.once('error', () => ended(null, null));
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Sends a message, such as `{ method, args }` for a call whose answer does not matter. */
  send(message: object): void {
    // The channel may be closing: whoever waits for an answer learns of it from the exit.
    if (this.child.connected) this.child.send(message, () => undefined);
  }

  /** Calls a method of the worker and resolves to what it returns; rejects with its error, `code` included. */
  async call<T = unknown>(method: string, ...args: unknown[]): Promise<T> {
    const id = ++this.callCount;
    const answered = this.next((message) => message['id'] === id, Infinity);
    this.send({ id, method, args });
    const { result, error } = (await answered) as { result?: T; error?: PlainError };
    if (error) throw Object.assign(new Error(error.message), error);
    return result as T;
  }

  /** The first message that fulfils the condition and was not taken yet, now or when it comes. */
  next(predicate: (message: WorkerMessage) => boolean = () => true, within = PATIENCE): Promise<WorkerMessage> {
    const index = this.unread.findIndex(predicate);
    if (index !== -1) return Promise.resolve(this.unread.splice(index, 1)[0] as WorkerMessage);
    if (!this.isRunning) return Promise.reject(new Error(`${this.name} has ended`));
    return new Promise((resolve, reject) => {
      const listener: Listener = { predicate, resolve, reject };
      this.listeners.add(listener);
      if (within === Infinity) return;
      const timer = setTimeout(() => {
        this.listeners.delete(listener);
        reject(new Error(`${this.name} did not say what was awaited within ${within} ms`));
      }, within);
      listener.resolve = (message) => {
        clearTimeout(timer);
        resolve(message);
      };
      listener.reject = (error) => {
        clearTimeout(timer);
        reject(error);
      };
    });
  }

  /** Stalls the process: it does nothing, and its connections stay open. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Ends the process: at once, or as `signal` says. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<WorkerExit> {
    if (this.isRunning) {
      // A stalled process takes no other signal before it goes on.
      if (signal !== 'SIGKILL') this.resume();
      this.child.kill(signal);
    }
    return this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  private received(message: WorkerMessage): void {
    for (const listener of this.listeners) {
      if (!listener.predicate(message)) continue;
      this.listeners.delete(listener);
      listener.resolve(message);
      return;
    }
    this.unread.push(message);
  }

  private failListeners(error: Error): void {
    for (const { reject } of this.listeners) reject(error);
    this.listeners.clear();
  }
}

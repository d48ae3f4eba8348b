import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const TARGET = fileURLToPath(new URL('java/target', import.meta.url));
/** A JVM that starts soon and stays small: it is one of several on a busy machine. */
const JVM = ['-Xmx192m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

interface Pending {
  resolve(value: string): void;
  reject(error: Error): void;
}

/** Where Redisson finds Redis. */
export interface RedissonServers {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  /** URLs. */
  readonly addresses: readonly string[];
  /** Of Sentinels: the name of the master. Of a Cluster: the `ShardedSubscriptionMode`. */
  readonly detail?: string;
}

/** A JVM with a client of Redisson (`java/src/main/java/RedissonSide.java`), and the calls to it. */
export class RedissonProcess {
  private readonly calls = new Map<number, Pending>();
  private lastCall = 0;
  private errors = '';

  private constructor(private readonly child: ChildProcess) {
    createInterface({ input: child.stdout! }).on('line', (line) => this.answered(line));
    child.stderr!.on('data', (data: Buffer) => (this.errors += data.toString()));
    child.once('exit', (code) => {
      for (const { reject } of this.calls.values()) reject(new Error(`the JVM has ended (${code}): ${this.errors}`));
      this.calls.clear();
    });
  }

  /** @param watchdog lockWatchdogTimeout of Redisson, in ms */
  static async start(version: string, at: string | RedissonServers, watchdog = 30_000): Promise<RedissonProcess> {
    const {
      kind,
      addresses,
      detail = '',
    }: RedissonServers = typeof at === 'string' ? { kind: 'single', addresses: [at] } : at;
    const classpath = `${TARGET}/${version}/classes:${TARGET}/${version}/lib/*`;
    const java = spawn('java', [
      ...JVM,
      '-cp',
      classpath,
      'RedissonSide',
      kind,
      String(watchdog),
      addresses.join(','),
      detail,
    ]);
    const started = new RedissonProcess(java);
    await new Promise<string>((resolve, reject) => started.calls.set(0, { resolve, reject }));
    return started;
  }

  /** Runs a command on the Java thread with this name. */
  on(thread: string): <T = string>(command: string, ...args: Array<string | number>) => Promise<T> {
    return async (command, ...args) => {
      const id = (this.lastCall += 1);
      const answer = new Promise<string>((resolve, reject) => this.calls.set(id, { resolve, reject }));
      this.child.stdin!.write(`${[id, thread, command, ...args].join(' ')}\n`);
      const text = await answer;
      return (text === 'true' ? true : text === 'false' ? false : text) as never;
    };
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  private answered(line: string): void {
    const [, id, outcome, text] = /^(\d+) (ok|error) ?(.*)$/.exec(line) ?? [];
    const call = this.calls.get(Number(id));
    if (call === undefined) return;
    this.calls.delete(Number(id));
    if (outcome === 'ok') call.resolve(text!);
    else call.reject(new Error(text));
  }
}

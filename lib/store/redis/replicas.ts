import { pause } from '../../common/reading-timer.js';
import { hashSlot } from '../../keys/index.js';
import { DOUBT } from './connection-options.js';
import type { Line } from './line.js';
import { flag, natural, readReply } from './reply-readers.js';
import { SCRIPTS } from './scripts.generated.js';
import type { Server, Servers } from './servers.js';
import { refusesWrites, storeFailure } from './store-failure.js';
import { within } from './time-limit.js';

/** A script that writes an entry again unchanged, by its id, in one key. It replies 0 if there is no such entry. */
type ConfirmingScript = 'confirm' | 'latchConfirm';

/** How many ms after a failure the replicas are asked again. The server may be another one by then. */
const AGAIN = 50;
/**
 * In ms. A WAIT blocks the commands after it, so a long wait is split into several. Each of them is long enough for
 * distant replicas, because WAIT covers the last write.
 */
const LONGEST_WAIT = 250;
/** A call may come during a WAIT, and needs the next one. */
const LONGEST_ROUND = 2 * LONGEST_WAIT;

/**
 * A connection to one master that is used for nothing else. `WAIT` covers only what its own connection wrote, and it blocks
 * the commands after it. Calls that come during a WAIT share the next one.
 */
class WaitConnection {
  private line: Line | undefined;
  private waiting: Promise<unknown> = Promise.resolve();
  /** The WAIT that follows, with the smallest number of replicas and the earliest end of the calls that share it. */
  private next: { min: number; until: number; readonly reply: Promise<unknown> } | undefined;

  constructor(private readonly connect: () => Line) {}

  /** Also called if the line leads to a server that is no longer the master: its replicas do not count. */
  close(): void {
    this.line?.close();
  }

  /** Opens the connection at its first use, and again after it has ended for good. */
  async connected(): Promise<Line> {
    if (this.line === undefined || this.line.state === 'ended') this.line = this.connect();
    await this.line.opened;
    return this.line;
  }

  /** Resolves to the reply to a WAIT that covers what has been sent before. */
  wait(line: Line, min: number, until: number): Promise<unknown> {
    if (this.next === undefined) {
      const reply = this.waiting.then(() => {
        const next = this.next!;
        this.next = undefined;
        // Never 0, which means no limit.
        const limit = Math.min(LONGEST_WAIT, Math.max(1, Math.ceil(next.until - performance.now())));
        const waited = line.send('WAIT', next.min, limit);
        this.waiting = waited.catch(() => undefined);
        return waited;
      });
      this.next = { min, until, reply };
    }
    this.next.min = Math.min(this.next.min, min);
    this.next.until = Math.min(this.next.until, until);
    return this.next.reply;
  }
}

/** Confirms writes at the replicas of the servers, on a separate connection to each master. */
export class Replicas {
  private readonly connections = new Map<Server, WaitConnection>();

  constructor(
    private readonly servers: Pick<Servers, 'lines' | 'of' | 'has' | 'refresh'>,
    private readonly commandTimeout: number,
    /** Called if the server does not answer. */
    private readonly doubt: () => void,
  ) {}

  /**
   * Writes the entry of a hold or a latch again, and counts the replicas that have it, once these are `min` or `timeout` is
   * over. Retries until then, to get over a failover: the next request goes to the server that has the lock by then.
   * @throws LockStoreError if the server refuses or does not answer in time
   */
  async confirm(key: string, id: string, min: number, timeout: number, script: ConfirmingScript): Promise<number> {
    const until = performance.now() + timeout;
    const { name, source } = SCRIPTS[script];
    const late = `Redis did not answer within ${this.commandTimeout} ms (commandTimeout) how many replicas have the write`;
    /** The line that wrote the entry again. A WAIT on another one does not cover it. */
    let writtenOn: Line | undefined;
    const ask = async (): Promise<number | undefined> => {
      const server = this.servers.of(hashSlot(key));
      if (server === undefined) throw new Error('Connection is closed.');
      const connection = this.connectionTo(server);
      const line = await connection.connected();
      const write = writtenOn === line ? 1 : line.send('EVAL', source, 1, key, id);
      writtenOn = line;
      const [written, replicas] = await Promise.all([write, connection.wait(line, min, until)]);
      return readReply(`the script '${name}'`, written, flag) ? readReply('WAIT', replicas, natural) : undefined;
    };
    const doubting = setInterval(() => this.doubt(), LONGEST_ROUND + DOUBT).unref();
    try {
      for (;;) {
        try {
          const replicas = await within(LONGEST_ROUND + this.commandTimeout, ask(), late);
          if (replicas === undefined) return 0;
          if (replicas >= min || performance.now() >= until) return replicas;
        } catch (error) {
          if (refusesWrites(error)) writtenOn?.close(true);
          writtenOn = undefined;
          const failure = storeFailure(error);
          if (!failure.transient || performance.now() + AGAIN > until) throw failure;
          void this.servers.refresh();
          await pause(AGAIN);
        }
      }
    } finally {
      clearInterval(doubting);
    }
  }

  /** Closes connections to servers that are no longer masters. A frozen one does not report that itself. */
  follow(): void {
    for (const [server, connection] of this.connections) {
      if (this.servers.has(server)) continue;
      this.connections.delete(server);
      connection.close();
    }
  }

  close(): void {
    for (const connection of this.connections.values()) connection.close();
    this.connections.clear();
  }

  private connectionTo(server: Server): WaitConnection {
    let connection = this.connections.get(server);
    if (connection === undefined) {
      connection = new WaitConnection(() => this.servers.lines.open({}, server.at));
      this.connections.set(server, connection);
    }
    return connection;
  }
}

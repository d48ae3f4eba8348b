import { DOUBT } from './connection-options.js';
import type { ReplicaConfirmation } from './connection.js';
import type { Line } from './line.js';
import { flag, natural, readReply } from './reply-readers.js';
import { SCRIPTS } from './scripts.generated.js';
import { refusesWrites, storeFailure } from './store-failure.js';
import { within } from './time-limit.js';

/**
 * In ms. A WAIT blocks the commands after it, so a long wait is split into several. Each of them is long enough for
 * distant replicas, because WAIT covers the last write.
 */
const LONGEST_WAIT = 250;
/** A call may come during a WAIT, and needs the next one. */
const LONGEST_ROUND = 2 * LONGEST_WAIT;

/**
 * Counts the replicas that have the write of a hold or a latch. `WAIT` covers only what its own connection wrote, and
 * it blocks the commands after it. So the entry is written again on a separate connection. Calls that come during a
 * WAIT share the next one. Each call ends at its own time limit.
 */
export class ReplicaAcknowledgement implements ReplicaConfirmation {
  private line: Line | undefined;
  private waiting: Promise<unknown> = Promise.resolve();
  /** The WAIT that follows, with the smallest number of replicas and the earliest end of the calls that share it. */
  private next: { min: number; until: number; readonly reply: Promise<unknown> } | undefined;

  constructor(
    /** Opens a line that is used for nothing else. */
    private readonly connect: () => Line,
    private readonly commandTimeout: number,
    /** Called if the server does not answer. */
    private readonly doubt: () => void,
  ) {}

  /** Also called if the line leads to a server that is no longer the master: its replicas do not count. */
  close(): void {
    this.line?.close();
  }

  readonly confirm: ReplicaConfirmation['confirm'] = async (key, id, min, timeout, script = 'confirm') => {
    const until = performance.now() + timeout;
    const { name, source } = SCRIPTS[script];
    const late = `Redis did not answer within ${this.commandTimeout} ms (commandTimeout) how many replicas have the write`;
    /** The line that wrote the entry again. A WAIT on another one does not cover it. */
    let writtenOn: Line | undefined;
    const ask = async (): Promise<number | undefined> => {
      const line = await this.connected();
      const write = writtenOn === line ? 1 : line.send('EVAL', source, 1, key, id);
      writtenOn = line;
      const [written, replicas] = await Promise.all([write, this.wait(line, min, until)]);
      return readReply(`the script '${name}'`, written, flag) ? readReply('WAIT', replicas, natural) : undefined;
    };
    const doubting = setInterval(() => this.doubt(), LONGEST_ROUND + DOUBT).unref();
    try {
      for (;;) {
        const replicas = await within(LONGEST_ROUND + this.commandTimeout, ask(), late);
        if (replicas === undefined) return 0;
        if (replicas >= min || performance.now() >= until) return replicas;
      }
    } catch (error) {
      // The next question goes to the server that has the lock by then.
      if (refusesWrites(error)) this.line?.close(true);
      throw storeFailure(error);
    } finally {
      clearInterval(doubting);
    }
  };

  /** Resolves to the reply to a WAIT that covers what has been sent before. */
  private wait(line: Line, min: number, until: number): Promise<unknown> {
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

  /** Opens the connection at its first use, and again after it has ended for good. */
  private async connected(): Promise<Line> {
    if (this.line === undefined || this.line.state === 'ended') this.line = this.connect();
    await this.line.opened;
    return this.line;
  }
}

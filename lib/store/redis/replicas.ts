import { pause, readingClock } from '../../common/reading-timer.js';
import { LockStoreError } from '../../errors/index.js';
import { hashSlot } from '../../keys/index.js';
import type { ReplicateRequest } from '../latch-store.js';
import type { Line } from './line.js';
import { flag, natural, readReply } from './reply-readers.js';
import { SCRIPTS } from './scripts.generated.js';
import type { Server, Servers } from './servers.js';
import { refusesWrites, storeFailure } from './store-failure.js';
import { TimeLimit } from './time-limit.js';

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
 * A line to one master that is used for nothing else. `WAIT` covers only what its own line wrote, and it blocks the commands
 * after it. Calls that come during a WAIT share the next one.
 */
class WaitLine {
  private waiting: Promise<unknown> = Promise.resolve();
  /** The WAIT that follows, with the smallest number of replicas and the earliest end of the calls that share it. */
  private next: { min: number; until: number; readonly reply: Promise<unknown> } | undefined;

  constructor(readonly line: Line) {}

  /** Resolves to the reply to a WAIT that covers what has been sent before. */
  wait(min: number, until: number): Promise<unknown> {
    this.next ??= { min, until, reply: this.waiting.then(() => this.send()) };
    this.next.min = Math.min(this.next.min, min);
    this.next.until = Math.min(this.next.until, until);
    return this.next.reply;
  }

  private send(): Promise<unknown> {
    const { min, until } = this.next!;
    this.next = undefined;
    // Never 0, which means no limit.
    const limit = Math.min(LONGEST_WAIT, Math.max(1, Math.ceil(until - performance.now())));
    const waited = this.line.send('WAIT', min, limit);
    this.waiting = waited.catch(() => undefined);
    return waited;
  }
}

/** Confirms writes at the replicas of the servers, on a separate line to each master. */
export class Replicas {
  private readonly lines = new Map<Server, WaitLine>();
  private readonly limit: TimeLimit;

  constructor(
    private readonly servers: Pick<Servers, 'lines' | 'of' | 'known' | 'refresh'>,
    private readonly commandTimeout: number,
  ) {
    this.limit = new TimeLimit(LONGEST_ROUND + commandTimeout, readingClock, () => void servers.refresh());
  }

  /**
   * Writes the entry of a hold or a latch again, and counts the replicas that have it, once these are `min` or `timeout` is
   * over. Retries until then, to get over a failover: the next request goes to the server that has the lock by then.
   * @throws LockStoreError if the server refuses or does not answer in time
   */
  async confirm(
    { key, id, min, timeout }: ReplicateRequest,
    /** The Redis key of the entry. */
    entry: string,
    script: ConfirmingScript,
  ): Promise<number> {
    const until = performance.now() + timeout;
    const { name, source } = SCRIPTS[script];
    const late = (): LockStoreError =>
      new LockStoreError(
        `Redis did not answer within ${this.commandTimeout} ms (commandTimeout) how many replicas have the write`,
        { key, transient: true },
      );
    /** The line that wrote the entry again. A WAIT on another one does not cover it. */
    let writtenOn: Line | undefined;
    const ask = async (): Promise<number | undefined> => {
      const server = this.servers.of(hashSlot(entry));
      if (server === undefined) throw new Error('Connection is closed.');
      const waits = this.lineTo(server);
      const { line } = waits;
      await line.opened;
      const write = writtenOn === line ? 1 : line.send('EVAL', source, 1, entry, id);
      writtenOn = line;
      const [written, replicas] = await Promise.all([write, waits.wait(min, until)]);
      return readReply(`the script '${name}'`, written, flag, key)
        ? readReply('WAIT', replicas, natural, key)
        : undefined;
    };
    for (;;) {
      try {
        const replicas = await this.limit.within(ask(), late);
        if (replicas === undefined) return 0;
        if (replicas >= min || performance.now() >= until) return replicas;
      } catch (error) {
        if (refusesWrites(error)) writtenOn?.close(true);
        writtenOn = undefined;
        const failure = storeFailure(error, key);
        if (!failure.transient || performance.now() + AGAIN > until) throw failure;
        void this.servers.refresh();
        await pause(AGAIN);
      }
    }
  }

  /** Closes the lines to servers that are no longer masters. A frozen one does not report that itself. */
  follow(): void {
    const { known } = this.servers;
    for (const [server, { line }] of this.lines) {
      if (known.includes(server)) continue;
      this.lines.delete(server);
      line.close();
    }
  }

  close(): void {
    for (const { line } of this.lines.values()) line.close();
    this.lines.clear();
  }

  /** Opens a line at its first use, and another one after it has ended. */
  private lineTo(server: Server): WaitLine {
    const before = this.lines.get(server);
    if (before !== undefined && before.line.state !== 'ended') return before;
    const waits = new WaitLine(this.servers.lines.open({}, server.at));
    this.lines.set(server, waits);
    return waits;
  }
}

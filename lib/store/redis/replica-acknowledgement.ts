import type { LockStoreError } from '../../errors/index.js';
import { DOUBT } from './connection-options.js';
import type { ConfirmingScript, ReplicaConfirmation } from './connection.js';
import type { Line } from './line.js';
import { flag, natural, readReply } from './reply-readers.js';
import { SCRIPTS } from './scripts.generated.js';
import { refusesWrites, storeFailure } from './store-failure.js';
import { within } from './time-limit.js';

interface Confirmation {
  readonly script: ConfirmingScript;
  readonly key: string;
  readonly id: string;
  readonly min: number;
  /** Until when to wait for the replicas, by `performance.now()`. */
  readonly until: number;
  /** The line that wrote the entry again. A WAIT on another one does not cover it. */
  writtenOn: Line | undefined;
  readonly resolve: (replicas: number) => void;
  readonly reject: (error: LockStoreError) => void;
}

/**
 * In ms. A WAIT blocks the commands after it, so a long wait is split into several. Each of them is long enough for
 * distant replicas, because WAIT covers the last write.
 */
const LONGEST_WAIT = 250;

/**
 * Counts the replicas that have the write of a hold or a latch. `WAIT` covers only what its own connection wrote, and
 * it blocks the commands after it. So the entry is written again on a separate connection. Calls that come during a
 * WAIT share the next one. Each call ends at its own time limit.
 */
export class ReplicaAcknowledgement implements ReplicaConfirmation {
  private readonly pending = new Set<Confirmation>();
  private working = false;
  private line: Line | undefined;

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

  confirm(
    key: string,
    id: string,
    min: number,
    timeout: number,
    script: ConfirmingScript = 'confirm',
  ): Promise<number> {
    const until = performance.now() + timeout;
    return new Promise((resolve, reject) => {
      this.pending.add({ script, key, id, min, until, writtenOn: undefined, resolve, reject });
      if (!this.working) void this.work();
    });
  }

  private async work(): Promise<void> {
    this.working = true;
    while (this.pending.size > 0) {
      const asked = [...this.pending];
      try {
        await this.bounded(asked);
      } catch (error) {
        for (const confirmation of asked) this.fail(confirmation, error);
      }
    }
    this.working = false;
  }

  private async bounded(asked: readonly Confirmation[]): Promise<void> {
    const late = `Redis did not answer within ${this.commandTimeout} ms (commandTimeout) how many replicas have the write`;
    const doubting = setInterval(() => this.doubt(), LONGEST_WAIT + DOUBT).unref();
    try {
      await within(LONGEST_WAIT + this.commandTimeout, this.ask(asked), late);
    } finally {
      clearInterval(doubting);
    }
  }

  private async ask(asked: readonly Confirmation[]): Promise<void> {
    const line = await this.connected();
    const unwritten = asked.filter(({ writtenOn }) => writtenOn !== line);
    const written = unwritten.map((confirmation) => {
      confirmation.writtenOn = line;
      return line.send('EVAL', SCRIPTS[confirmation.script].source, 1, confirmation.key, confirmation.id);
    });
    const left = Math.min(...asked.map(({ until }) => until)) - performance.now();
    // Never 0, which means no limit.
    const wait = Math.min(LONGEST_WAIT, Math.max(1, Math.ceil(left)));
    const waited = line.send('WAIT', Math.min(...asked.map(({ min }) => min)), wait);
    const replies = await Promise.allSettled([waited, ...written]);
    unwritten.forEach((confirmation, i) => {
      const reply = replies[i + 1]!;
      if (reply.status === 'rejected') {
        // The next question goes to the server that has the lock by then.
        if (refusesWrites(reply.reason)) line.close(true);
        return this.fail(confirmation, reply.reason);
      }
      const script = `the script '${SCRIPTS[confirmation.script].name}'`;
      try {
        if (!readReply(script, reply.value, flag)) this.answer(confirmation, 0);
      } catch (wrongReply) {
        this.fail(confirmation, wrongReply);
      }
    });
    const replicas = readReply('WAIT', await waited, natural);
    const now = performance.now();
    for (const confirmation of asked) {
      const { min, until } = confirmation;
      if (replicas >= min || until <= now) this.answer(confirmation, replicas);
    }
  }

  /** Opens the connection at its first use, and again after it has ended for good. */
  private async connected(): Promise<Line> {
    if (this.line === undefined || this.line.state === 'ended') this.line = this.connect();
    await this.line.opened;
    return this.line;
  }

  private answer(confirmation: Confirmation, replicas: number): void {
    if (this.pending.delete(confirmation)) confirmation.resolve(replicas);
  }

  private fail(confirmation: Confirmation, error: unknown): void {
    if (this.pending.delete(confirmation)) confirmation.reject(storeFailure(error));
  }
}

/** How many ms after a failure the replicas are asked again. The server may be another one by then. */
const AGAIN = 50;

/**
 * Retries until `timeout`, to get over a failover: a request that fails because of one is sent again, to the server
 * that has the lock by then. `ask` gets the ms that are left.
 * @throws LockStoreError the last one when the time is over; a permanent one at once
 */
export async function retryConfirmation(timeout: number, ask: (left: number) => Promise<number>): Promise<number> {
  const until = performance.now() + timeout;
  for (;;) {
    try {
      return await ask(Math.max(0, until - performance.now()));
    } catch (error) {
      if (!(error as LockStoreError).transient || performance.now() + AGAIN > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN).unref());
  }
}

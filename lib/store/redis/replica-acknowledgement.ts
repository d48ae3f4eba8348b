import type { Redis } from 'ioredis';
import { LockStoreError } from '../../errors/index.js';
import { DOUBT } from './connection-options.js';
import type { ConfirmingScript, ReplicaConfirmation } from './connection.js';
import { flag, natural, readReply } from './reply-readers.js';
import { SCRIPTS } from './scripts.generated.js';
import { storeFailure } from './store-failure.js';

interface Confirmation {
  readonly script: ConfirmingScript;
  readonly key: string;
  readonly id: string;
  readonly min: number;
  /** Until when to wait for the replicas, by `performance.now()`. */
  readonly until: number;
  /** The epoch of the connection that wrote the entry again. */
  writtenIn: number | undefined;
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
  private client: Redis | undefined;
  /** Grows when the connection is lost. A WAIT on the next connection does not cover earlier writes. */
  private epoch = 0;

  constructor(
    /** Creates a connection that is used for nothing else. */
    private readonly connect: () => Redis,
    private readonly commandTimeout: number,
    /** Called if the server does not answer. */
    private readonly doubt: () => void,
  ) {}

  close(): void {
    this.client?.disconnect();
  }

  /** Closes the connection if it leads to a server that is no longer the master: its replicas do not count. */
  leave(isElsewhere: (client: Redis) => boolean): void {
    const { client } = this;
    if (client?.status !== 'ready' || !isElsewhere(client)) return;
    this.client = undefined;
    client.disconnect();
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
      this.pending.add({ script, key, id, min, until, writtenIn: undefined, resolve, reject });
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
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
      const message = `Redis did not answer within ${this.commandTimeout} ms (commandTimeout) how many replicas have the write`;
      const late = (): void => reject(new LockStoreError(message, { transient: true }));
      timer = setTimeout(late, LONGEST_WAIT + this.commandTimeout).unref();
    });
    const doubting = setInterval(() => this.doubt(), LONGEST_WAIT + DOUBT).unref();
    try {
      await Promise.race([this.ask(asked), limit]);
    } finally {
      clearTimeout(timer);
      clearInterval(doubting);
    }
  }

  private async ask(asked: readonly Confirmation[]): Promise<void> {
    const pipeline = this.connected().pipeline();
    const { epoch } = this;
    const unwritten = asked.filter(({ writtenIn }) => writtenIn !== epoch);
    for (const confirmation of unwritten) {
      confirmation.writtenIn = epoch;
      pipeline.eval(SCRIPTS[confirmation.script].source, 1, confirmation.key, confirmation.id);
    }
    const left = Math.min(...asked.map(({ until }) => until)) - performance.now();
    // Never 0, which means no limit.
    const wait = Math.min(LONGEST_WAIT, Math.max(1, Math.ceil(left)));
    pipeline.wait(Math.min(...asked.map(({ min }) => min)), wait);
    const replies = (await pipeline.exec()) ?? [];
    const [waitError, waitReply] = replies.at(-1) ?? [new Error('the connection was closed')];
    unwritten.forEach((confirmation, i) => {
      const [error, isHeld] = replies[i] ?? [waitError];
      if (error) return this.fail(confirmation, error);
      try {
        if (!readReply(`the script '${SCRIPTS[confirmation.script].name}'`, isHeld, flag)) this.answer(confirmation, 0);
      } catch (wrongReply) {
        this.fail(confirmation, wrongReply);
      }
    });
    if (waitError) throw waitError;
    const replicas = readReply('WAIT', waitReply, natural);
    const now = performance.now();
    for (const confirmation of asked) {
      const { min, until } = confirmation;
      if (replicas >= min || until <= now) this.answer(confirmation, replicas);
    }
  }

  /** Opens the connection at its first use, and again after it has ended for good. */
  private connected(): Redis {
    if (this.client === undefined || this.client.status === 'end') {
      this.epoch += 1;
      this.client = this.connect();
      this.client.on('close', () => (this.epoch += 1));
      this.client.on('error', () => undefined);
    }
    return this.client;
  }

  private answer(confirmation: Confirmation, replicas: number): void {
    if (this.pending.delete(confirmation)) confirmation.resolve(replicas);
  }

  private fail(confirmation: Confirmation, error: unknown): void {
    if (this.pending.delete(confirmation)) confirmation.reject(storeFailure(error));
  }
}

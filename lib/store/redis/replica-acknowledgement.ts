import type { Redis } from 'ioredis';
import { LockStoreError } from '../../errors/index.js';
import { SCRIPTS } from './scripts.generated.js';
import { storeFailure } from './store-failure.js';

interface Confirmation {
  readonly state: string;
  readonly id: string;
  readonly resolve: (replicas: number) => void;
  readonly reject: (error: LockStoreError) => void;
}

/** Confirmations that go out together, and share one WAIT. */
interface Batch {
  readonly confirmations: Confirmation[];
  min: number;
  timeout: number;
}

/**
 * Learns how many replicas have what was written of a hold. `WAIT` speaks only of what its own connection wrote, and
 * blocks whatever is sent behind it: so the hold is written once more, on a connection of its own. What comes while a
 * WAIT is under way shares the next one.
 */
export class ReplicaAcknowledgement {
  private next: Batch | undefined;
  private waiting = false;

  constructor(
    private readonly connection: () => Redis,
    private readonly commandTimeout: number,
  ) {}

  /** @throws LockStoreError when the server refuses or does not answer in time */
  confirm(state: string, id: string, min: number, timeout: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.next ??= { confirmations: [], min: 0, timeout: 0 };
      this.next.min = Math.max(this.next.min, min);
      this.next.timeout = Math.max(this.next.timeout, timeout);
      this.next.confirmations.push({ state, id, resolve, reject });
      if (!this.waiting) void this.work();
    });
  }

  private async work(): Promise<void> {
    this.waiting = true;
    while (this.next !== undefined) {
      const batch = this.next;
      this.next = undefined;
      try {
        await this.bounded(batch);
      } catch (error) {
        for (const { reject } of batch.confirmations) reject(storeFailure(error));
      }
    }
    this.waiting = false;
  }

  private async bounded(batch: Batch): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
      const message = `Redis did not answer within ${this.commandTimeout} ms (commandTimeout) whether its replicas follow`;
      const late = (): void => reject(new LockStoreError(message, { transient: true }));
      timer = setTimeout(late, batch.timeout + this.commandTimeout).unref();
    });
    try {
      await Promise.race([this.ask(batch), limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  private async ask({ confirmations, min, timeout }: Batch): Promise<void> {
    const pipeline = this.connection().pipeline();
    for (const { state, id } of confirmations) pipeline.eval(SCRIPTS.confirm.source, 1, state, id);
    pipeline.wait(min, timeout);
    const replies = (await pipeline.exec()) ?? [];
    const [waitError, replicas] = replies.at(-1) ?? [new Error('the connection was closed')];
    confirmations.forEach(({ resolve, reject }, i) => {
      const error = replies[i]?.[0] ?? waitError;
      if (error) reject(storeFailure(error));
      else resolve(replies[i]?.[1] === 1 ? Number(replicas) : 0);
    });
  }
}

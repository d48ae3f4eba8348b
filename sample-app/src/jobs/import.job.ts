import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';

/** How long one row takes, in ms. */
const ROW = 20;
const ROWS_PER_COMMIT = 5;

/** One run of an import. */
export interface ImportRun {
  readonly pid: number;
  readonly fencingToken: number;
  /** By the clock of the machine, in ms. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Where it began: above 0 if it continued the work of an earlier run. */
  readonly firstRow: number;
  readonly rows: number;
}

/** Imports price lists. An import takes an unknown time, and must never run twice at once. */
@Injectable()
export class ImportJob {
  constructor(private readonly redis: Redis) {}

  /**
   * With `expire: 0` the lease is renewed while the method runs. A working process keeps the lock, and the lock of a crashed
   * process expires soon. Each row is committed on its own, so that the next run continues where this one ended.
   */
  @DistributedLock({ key: 'import:#{#list}', expire: 0 })
  async import(list: string, rows: number): Promise<ImportRun> {
    const startedAt = Date.now();
    const lock = currentLock();
    const firstRow = await this.rowsDone(list);
    let row = firstRow;
    while (row < rows) {
      const batch = Math.min(ROWS_PER_COMMIT, rows - row);
      // Ends at once when the lock is lost on the way.
      await this.fetchRows(batch, lock.signal);
      row += batch;
      // The last look before what cannot be taken back.
      await lock.verify();
      await this.redis.set(`import:${list}`, row);
    }
    return { pid: process.pid, fencingToken: lock.fencingToken, startedAt, endedAt: Date.now(), firstRow, rows };
  }

  async rowsDone(list: string): Promise<number> {
    return Number(await this.redis.get(`import:${list}`));
  }

  /** What would be a download. */
  private async fetchRows(count: number, signal: AbortSignal): Promise<void> {
    await sleep(count * ROW, undefined, { signal });
  }
}

import { Injectable } from '@nestjs/common';
import { DistributedLock } from 'nestjs-redis-locks';
import { REDIS_URL } from '../support/accounts.js';

/** The address as options, for packages that take no URL. */
export const REDIS = { host: new URL(REDIS_URL).hostname, port: Number(new URL(REDIS_URL).port || 6379) };

/** A call that runs until `complete` is called. */
@Injectable()
export class Reports {
  private begin!: () => void;
  private end!: () => void;
  readonly begun = new Promise<void>((resolve) => (this.begin = resolve));
  readonly ended = new Promise<void>((resolve) => (this.end = resolve));
  private finish!: () => void;
  private readonly finished = new Promise<void>((resolve) => (this.finish = resolve));

  @DistributedLock('report:#id')
  async write(id: string): Promise<string> {
    this.begin();
    await this.finished;
    this.end();
    return id;
  }

  complete(): void {
    this.finish();
  }
}

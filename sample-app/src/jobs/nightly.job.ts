import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import { DistributedLock } from 'nestjs-redis-locks';

/** Every replica has the same schedule, and one of them does the work. */
@Injectable()
export class NightlyJob {
  constructor(private readonly redis: Redis) {}

  /**
   * If another replica holds the lock, the call is skipped and returns `undefined`. The job takes a few milliseconds, so
   * `holdAtLeast` keeps the lock for 4 s: a replica whose clock is late must not run the job again. With `waitTimeout`, the job
   * survives an outage of Redis of about a second.
   */
  @Cron(CronExpression.EVERY_DAY_AT_3AM)
  @DistributedLock({ key: 'job:nightly', onContended: 'skip', waitTimeout: '1s', holdAtLeast: '4s' })
  async closeTheDay(): Promise<number | undefined> {
    await sleep(20);
    return this.redis.incr('days-closed');
  }

  async daysClosed(): Promise<number> {
    return Number(await this.redis.get('days-closed'));
  }
}

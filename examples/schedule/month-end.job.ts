import { Injectable } from '@nestjs/common';
import { Cron, Interval } from '@nestjs/schedule';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import { Accounts } from '../support/accounts.js';

/** Every replica has the same schedule, and one of them does the work. */
@Injectable()
export class MonthEndJob {
  /** Whose month ends. */
  account = 'nobody';

  constructor(private readonly accounts: Accounts) {}

  /**
   * The second replica does nothing. The job is very short, and clocks differ, so the key stays locked a little longer:
   * otherwise a late replica would find it free. Choose more than `waitTimeout` and the difference between the clocks, and
   * less than the schedule's period. With `waitTimeout`, the job survives a short outage of Redis.
   */
  @Cron('0 0 1 * *', { name: 'interest' })
  @DistributedLock({ key: 'job:interest:#{#this.account}', onContended: 'skip', waitTimeout: '1s', holdAtLeast: '10s' })
  async payInterest(): Promise<number | undefined> {
    return this.accounts.deposit(this.account, 5);
  }

  /** Runs often, never concurrently, and may take longer than its interval. */
  @DistributedLock({ key: 'job:fees:#{#this.account}', onContended: 'skip' })
  @Interval('fees', 20)
  async chargeFees(): Promise<void> {
    const lock = currentLock();
    for (let i = 0; i < 3; i++) {
      lock.assertHeld(); // ends the job when the lock was lost on the way
      await this.accounts.deposit(`${this.account}:fees`, 1);
    }
  }
}

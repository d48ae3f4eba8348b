import { Processor, WorkerHost } from '@nestjs/bullmq';
import type { OnModuleDestroy } from '@nestjs/common';
import { DelayedError, type Job } from 'bullmq';
import { currentLock, DistributedLock, type LockTimeoutError } from 'nestjs-redis-locks';
import { Accounts } from '../support/accounts.js';

export interface Payout {
  readonly account: string;
  readonly amount: number;
}

/** In how many ms a job comes again that could not have its lock. */
const LATER = 50;

/**
 * Jobs of all accounts side by side, those of one account one after the other. A job whose account is taken goes back to the
 * queue, where it keeps no worker busy, and has used up none of its attempts. BullMQ prevents a second run of a job while
 * its worker is alive; the lock protects the account.
 */
@Processor('payouts', { concurrency: 4 })
export class PayoutsProcessor extends WorkerHost implements OnModuleDestroy {
  constructor(private readonly accounts: Accounts) {
    super();
  }

  @DistributedLock({ key: 'account:#{#job.data.account}', onContended: comeBackLater })
  async process(job: Job<Payout>, _token?: string): Promise<number> {
    currentLock().assertHeld();
    return this.accounts.deposit(job.data.account, -job.data.amount);
  }

  /** The worker takes no job that would find the locks closed. */
  async onModuleDestroy(): Promise<void> {
    await this.worker.close();
  }
}

async function comeBackLater(_error: LockTimeoutError, job: Job<Payout>, token?: string): Promise<never> {
  await job.moveToDelayed(Date.now() + LATER, token);
  throw new DelayedError();
}

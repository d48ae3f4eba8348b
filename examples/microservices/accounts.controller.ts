import { Controller, UseFilters } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { DistributedLock, LockExceptionFilter, UseLock } from 'nestjs-redis-locks';
import { Accounts } from '../support/accounts.js';

export interface Change {
  readonly id: string;
  readonly amount: number;
}

@Controller()
@UseFilters(LockExceptionFilter) // the client's error has a code, and no word about keys
export class AccountsController {
  constructor(private readonly accounts: Accounts) {}

  /** `#data` is the payload. */
  @MessagePattern('deposit')
  @UseLock({ key: 'account:#{#data.id}' })
  deposit(@Payload() { id, amount }: Change): Promise<number> {
    return this.accounts.deposit(id, amount);
  }

  @DistributedLock({ key: 'account:#{#change.id}', waitTimeout: 0 })
  @MessagePattern('withdraw')
  async withdraw(@Payload() change: Change): Promise<number> {
    return this.accounts.deposit(change.id, -change.amount);
  }

  /** An event that every replica receives is handled by one of them. */
  @EventPattern('month.ended')
  @UseLock({ key: 'interest:#{#data.id}', onContended: 'skip', holdAtLeast: '10s' })
  async payInterest(@Payload() { id, amount }: Change): Promise<void> {
    await this.accounts.deposit(id, amount);
  }
}

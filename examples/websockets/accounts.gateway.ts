import { UseFilters } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { DistributedLock, LockExceptionFilter, UseLock } from 'nestjs-redis-locks';
import { Accounts } from '../support/accounts.js';

export interface Change {
  readonly id: string;
  readonly amount: number;
}

@WebSocketGateway()
@UseFilters(LockExceptionFilter) // an `exception` message with a code, and no word about keys
export class AccountsGateway {
  constructor(private readonly accounts: Accounts) {}

  /** `#data` is the message, `#user` what a guard has put on the client. */
  @SubscribeMessage('deposit')
  @UseLock({ key: 'account:#{#data.id}' })
  deposit(@MessageBody() { id, amount }: Change): Promise<number> {
    return this.accounts.deposit(id, amount);
  }

  @DistributedLock({ key: 'account:#{#change.id}', waitTimeout: 0 })
  @SubscribeMessage('withdraw')
  async withdraw(@MessageBody() change: Change): Promise<number> {
    return this.accounts.deposit(change.id, -change.amount);
  }
}

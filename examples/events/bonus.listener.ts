import { Injectable } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import { DistributedLock } from 'nestjs-redis-locks';
import { Accounts } from '../support/accounts.js';

export interface OrderPaid {
  readonly orderId: string;
  readonly customerId: string;
}

@Injectable()
export class BonusListener {
  constructor(private readonly accounts: Accounts) {}

  /** Every event counts, one after the other for each customer, no matter which replica receives it. */
  @OnEvent('order.paid')
  @DistributedLock({ key: 'account:#{#event.customerId}' })
  async addBonus(event: OrderPaid): Promise<void> {
    await this.accounts.deposit(event.customerId, 5);
  }

  /** If all replicas receive the same order, through a webhook that is sent to each, one of them acts. */
  @DistributedLock({ key: 'receipt:#{#event.orderId}', onContended: 'skip', holdAtLeast: '10s' })
  @OnEvent('order.paid')
  async sendReceipt(event: OrderPaid): Promise<void> {
    await this.accounts.deposit(`receipts:${event.orderId}`, 1);
  }
}

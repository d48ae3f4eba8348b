import { CommandHandler, EventBus, EventsHandler, type ICommandHandler, type IEventHandler } from '@nestjs/cqrs';
import { DistributedLock } from 'nestjs-redis-locks';
import { Accounts } from '../support/accounts.js';

export class Transfer {
  constructor(
    readonly id: string,
    readonly from: string,
    readonly to: string,
    readonly amount: number,
  ) {}
}

export class Transferred {
  constructor(readonly transfer: Transfer) {}
}

@CommandHandler(Transfer)
export class TransferHandler implements ICommandHandler<Transfer> {
  constructor(
    private readonly accounts: Accounts,
    private readonly events: EventBus,
  ) {}

  /** Both accounts or none, and two transfers that cross do not wait for each other. */
  @DistributedLock({ key: ['account:#{#transfer.from}', 'account:#{#transfer.to}'], waitTimeout: '5s' })
  async execute(transfer: Transfer): Promise<void> {
    await this.accounts.deposit(transfer.from, -transfer.amount);
    await this.accounts.deposit(transfer.to, transfer.amount);
    this.events.publish(new Transferred(transfer));
  }
}

/** Runs in no scope of the command's locks, and takes its own. */
@EventsHandler(Transferred)
export class FeeHandler implements IEventHandler<Transferred> {
  constructor(private readonly accounts: Accounts) {}

  @DistributedLock({ key: 'account:#{#event.transfer.from}:fees' })
  async handle(event: Transferred): Promise<void> {
    await this.accounts.deposit(`${event.transfer.from}:fees`, 1);
  }
}

import { Body, Controller, Param, ParseIntPipe, Post } from '@nestjs/common';
import { DistributedLock, UseLock } from 'nestjs-redis-locks';
import { Accounts } from '../support/accounts.js';

@Controller('accounts')
export class AccountsController {
  constructor(private readonly accounts: Accounts) {}

  /** By the request, before the pipes. A client that goes away while it waits leaves the queue. */
  @Post(':id/deposits')
  @UseLock({ key: 'account:#{#params.id}', waitTimeout: '5s' })
  deposit(@Param('id') id: string, @Body('amount', ParseIntPipe) amount: number): Promise<number> {
    return this.accounts.deposit(id, amount);
  }

  /** By the arguments, as the pipes have made them. It may stand above the route as well as below. */
  @DistributedLock({ key: 'account:#{#id}', waitTimeout: 0 })
  @Post(':id/withdrawals')
  async withdraw(@Param('id') id: string, @Body('amount', ParseIntPipe) amount: number): Promise<number> {
    return this.accounts.deposit(id, -amount);
  }
}

import { UseFilters } from '@nestjs/common';
import { Args, ID, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { DistributedLock, LockExceptionFilter, UseLock } from 'nestjs-redis-locks';
import { Accounts } from '../support/accounts.js';
import { Account } from './account.js';

@Resolver(() => Account)
@UseFilters(LockExceptionFilter) // errors with extensions.code, and no word about keys
export class AccountsResolver {
  constructor(private readonly accounts: Accounts) {}

  @Query(() => Account)
  async account(@Args('id', { type: () => ID }) id: string): Promise<Account> {
    return { id, balance: await this.accounts.balance(id) };
  }

  /** `#data` are the arguments of the field, `#headers` and `#user` come from the request. */
  @Mutation(() => Account)
  @UseLock({ key: 'account:#{#data.id}' })
  async deposit(
    @Args('id', { type: () => ID }) id: string,
    @Args('amount', { type: () => Int }) amount: number,
  ): Promise<Account> {
    return { id, balance: await this.accounts.deposit(id, amount) };
  }

  @DistributedLock({ key: 'account:#{#id}', waitTimeout: 0 })
  @Mutation(() => Account)
  async withdraw(
    @Args('id', { type: () => ID }) id: string,
    @Args('amount', { type: () => Int }) amount: number,
  ): Promise<Account> {
    return { id, balance: await this.accounts.deposit(id, -amount) };
  }
}

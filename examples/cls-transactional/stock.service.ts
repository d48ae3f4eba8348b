import { Injectable } from '@nestjs/common';
import { Transactional, TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import { Stock } from '../typeorm/stock.entity.js';

@Injectable()
export class StockService {
  constructor(private readonly transactions: TransactionHost<TransactionalAdapterTypeOrm>) {}

  /** The upper decorator is outside: the lock is released after the commit. */
  @DistributedLock({ key: 'stock:#{#sku}', waitTimeout: '20s' })
  @Transactional()
  async reserve(sku: string, check: () => Promise<unknown> = async () => {}): Promise<number> {
    const { quantity } = await this.transactions.tx.findOneByOrFail(Stock, { sku });
    if (quantity === 0) throw new Error(`${sku} is sold out`);
    await check();
    await this.transactions.tx.update(Stock, { sku }, { quantity: quantity - 1 });
    await currentLock().verify(); // the last line before the commit: a lost lock throws, and all is rolled back
    return quantity - 1;
  }
}

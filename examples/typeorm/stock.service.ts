import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import type { DataSource, EntityManager } from 'typeorm';
import { Stock } from './stock.entity.js';

@Injectable()
export class StockService {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /**
   * The lock is outside and the transaction inside, so the next holder reads committed data. The other way round, the lock
   * would be released before the commit.
   */
  @DistributedLock({ key: 'stock:#{#sku}', waitTimeout: '20s' })
  async reserve(sku: string, quantity: number, check: () => Promise<unknown> = checkCard): Promise<number> {
    return this.database.transaction(async (transaction) => {
      const left = (await this.stockOf(transaction, sku)) - quantity;
      if (left < 0) throw new Error(`${sku} is sold out`);
      await check();
      await transaction.update(Stock, { sku }, { quantity: left });
      // The last line before the commit. If the lock was lost, it throws, and all is rolled back.
      await currentLock().verify();
      return left;
    });
  }

  private async stockOf(transaction: EntityManager, sku: string): Promise<number> {
    return (await transaction.findOneByOrFail(Stock, { sku })).quantity;
  }
}

/** Takes a while, in which others would read the same stock. */
const checkCard = (): Promise<void> => sleep(2);

import { EntityManager } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import { Stock } from './stock.entity.js';

@Injectable()
export class StockService {
  constructor(private readonly entities: EntityManager) {}

  @DistributedLock({ key: 'stock:#{#sku}', waitTimeout: '20s' })
  async reserve(sku: string, check: () => Promise<unknown> = async () => {}): Promise<number> {
    return this.entities.transactional(
      async (transaction) => {
        const stock = await transaction.findOneOrFail(Stock, { sku });
        if (stock.quantity === 0) throw new Error(`${sku} is sold out`);
        await check();
        stock.quantity -= 1;
        await transaction.flush();
        await currentLock().verify(); // the last line before the commit
        return stock.quantity;
      },
      { clear: true }, // reads anew what was loaded before the lock
    );
  }
}

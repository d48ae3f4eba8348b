import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import { Database } from './database.js';

@Injectable()
export class StockService {
  constructor(private readonly database: Database) {}

  @DistributedLock({ key: 'stock:#{#sku}', waitTimeout: '20s' })
  async reserve(sku: string, check: () => Promise<unknown> = async () => {}): Promise<number> {
    return this.database.$transaction(async ({ stock }) => {
      const { quantity } = await stock.findUniqueOrThrow({ where: { sku } });
      if (quantity === 0) throw new Error(`${sku} is sold out`);
      await check();
      await stock.update({ where: { sku }, data: { quantity: quantity - 1 } });
      await currentLock().verify(); // the last line before the commit
      return quantity - 1;
    });
  }
}

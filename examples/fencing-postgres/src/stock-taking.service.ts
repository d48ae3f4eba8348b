import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import { Database } from './database.js';
import { StockRepository } from './stock.repository.js';
import { Warehouse } from './warehouse.js';

@Injectable()
export class StockTakingService {
  constructor(
    private readonly database: Database,
    private readonly stock: StockRepository,
    private readonly warehouse: Warehouse,
  ) {}

  /** Adds what has arrived. The lock is around the transaction: it is released after the commit. */
  @DistributedLock({ key: 'stock:#{#sku}' })
  async addArrivals(sku: string): Promise<number> {
    const lock = currentLock();
    const before = await this.stock.read(sku, lock.fencingToken);

    // The slow call runs outside the transaction, and ends when the lock is lost.
    const arrived = await this.warehouse.countArrivals(sku, lock.signal);

    return this.database.transaction(async (transaction) => {
      const after = before + arrived;
      await this.stock.write(sku, after, lock.fencingToken, transaction);
      await lock.verify(); // asks Redis, right before the commit
      return after;
    });
  }
}

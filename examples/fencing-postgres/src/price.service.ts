import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import { Database, type Queries } from './database.js';

@Injectable()
export class PriceService {
  constructor(private readonly database: Database) {}

  /** `write` may be any SQL: the trigger of the table sees the token. */
  @DistributedLock({ key: 'price:#{#sku}' })
  async change(sku: string, write: (transaction: Queries, sku: string) => Promise<unknown>): Promise<void> {
    const { fencingToken } = currentLock();
    await this.database.transaction(async (transaction) => {
      await transaction.query("SELECT set_config('locks.fencing_token', $1, true)", [String(fencingToken)]);
      await write(transaction, sku);
    });
  }
}

import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock } from 'nestjs-redis-locks';
import { Database, type Queries } from './database.js';

@Injectable()
export class TransferService {
  constructor(private readonly database: Database) {}

  /** Several keys, several rows, two tables: what the fences let pass is one transaction. */
  @DistributedLock({ key: ['account:#{#from}', 'account:#{#to}'] })
  async transfer(from: string, to: string, amount: number): Promise<void> {
    const lock = currentLock();
    await this.database.transaction(async (transaction) => {
      await passFences(transaction, lock.fencingTokens);
      await transaction.query('UPDATE accounts SET balance = balance - $2 WHERE id = $1', [from, amount]);
      await transaction.query('UPDATE accounts SET balance = balance + $2 WHERE id = $1', [to, amount]);
      await transaction.query('INSERT INTO transfers VALUES ($1, $2, $3)', [from, to, amount]);
      await lock.verify();
    });
  }
}

/** First in the transaction, and in one order for all of them, so that no two wait for each other. */
async function passFences(transaction: Queries, tokens: ReadonlyMap<string, number>): Promise<void> {
  for (const key of [...tokens.keys()].sort()) {
    await transaction.query('SELECT pass_fence($1, $2)', [key, tokens.get(key)]);
  }
}

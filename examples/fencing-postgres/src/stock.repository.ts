import { Injectable } from '@nestjs/common';
import { Database, type Queries } from './database.js';
import { StaleWriteError } from './stale-write.error.js';

/** The stock of each article, fenced by a column: a holder with a smaller token neither reads nor writes. */
@Injectable()
export class StockRepository {
  constructor(private readonly database: Database) {}

  /**
   * Reads, and raises the fence: from here on no earlier holder writes. Without that it could still do so between this
   * reading and the writing that is based on it.
   * @throws StaleWriteError
   */
  async read(sku: string, token: number, queries: Queries = this.database): Promise<number> {
    const { rows } = await queries.query<{ quantity: number }>(
      'UPDATE stock SET fence = $2 WHERE sku = $1 AND fence <= $2 RETURNING quantity',
      [sku, token],
    );
    if (rows[0] === undefined) throw new StaleWriteError(sku, token);
    return rows[0].quantity;
  }

  /** @throws StaleWriteError */
  async write(sku: string, quantity: number, token: number, queries: Queries = this.database): Promise<void> {
    const { rows } = await queries.query(
      'UPDATE stock SET quantity = $2, fence = $3 WHERE sku = $1 AND fence <= $3 RETURNING sku',
      [sku, quantity, token],
    );
    if (rows.length === 0) throw new StaleWriteError(sku, token);
  }
}

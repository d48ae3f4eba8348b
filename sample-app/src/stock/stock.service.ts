import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';

/** How an article stands. */
export interface StockReport {
  readonly sku: string;
  /** The stock as the shop counts it. */
  readonly available: number;
  /** What customers have been promised. */
  readonly sold: number;
}

/**
 * How much of each article there is. Reading and writing are two steps on purpose, as with most databases, documents and
 * remote systems: what happens in between is for the caller to rule out.
 */
@Injectable()
export class StockService {
  constructor(private readonly redis: Redis) {}

  async available(sku: string): Promise<number> {
    return Number(await this.redis.get(`stock:${sku}`));
  }

  async setAvailable(sku: string, quantity: number): Promise<void> {
    await this.redis.set(`stock:${sku}`, quantity);
  }

  /** Keeps the books. They are right whatever the stock says: Redis adds up in one step. */
  async recordSale(sku: string, quantity: number): Promise<void> {
    await this.redis.incrby(`sold:${sku}`, quantity);
  }

  /** Stock taking: so much there is, and nothing is sold yet. */
  async restock(sku: string, quantity: number): Promise<StockReport> {
    await Promise.all([this.setAvailable(sku, quantity), this.redis.set(`sold:${sku}`, 0)]);
    return this.report(sku);
  }

  async report(sku: string): Promise<StockReport> {
    const [available, sold] = await Promise.all([this.available(sku), this.redis.get(`sold:${sku}`)]);
    return { sku, available, sold: Number(sold) };
  }
}

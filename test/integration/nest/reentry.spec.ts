import { Injectable } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { findCurrentLock, DistributedLock } from 'nestjs-redis-locks';
import { NestBench, Section } from './support.js';

const bench = new NestBench();

@Injectable()
class Stock {
  private readonly sections = new Map<string, Section>();

  section(sku: string): Section {
    const section = this.sections.get(sku) ?? new Section();
    this.sections.set(sku, section);
    return section;
  }

  @DistributedLock('stock:#sku')
  async reserve(sku: string): Promise<string> {
    await this.section(sku).pass();
    return `${sku} held ${findCurrentLock()?.holdCount}`;
  }
}

@Injectable()
class Orders {
  constructor(readonly stock: Stock) {}

  @DistributedLock('stock:#{#skus[0]}')
  async place(skus: string[]): Promise<string[]> {
    const results: string[] = [];
    for (const sku of skus) results.push(await this.stock.reserve(sku));
    return results;
  }
}

const boot = async () => {
  const app = await bench.boot({ providers: [Stock, Orders] });
  return { orders: app.get(Orders), stock: app.get(Stock) };
};

describe('locked methods that call each other', () => {
  it('re-enter keys that the caller holds, and acquire others', async () => {
    const { orders } = await boot();
    expect(await orders.place(['a', 'a', 'b'])).toEqual(['a held 2', 'a held 2', 'b held 1']);
  });

  it('share no context across parallel requests', async () => {
    const { stock, orders } = await boot();
    await Promise.all([...'12345'].map(() => orders.place(['a', 'a'])));
    expect(stock.section('a').most).toBe(1);
  });
});

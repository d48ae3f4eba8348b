import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { findCurrentLock, DistributedLock } from 'nestjs-redis-locks';
import { NestBench } from './support.js';

const bench = new NestBench();

@Injectable()
class Stock {
  @DistributedLock('stock:#sku')
  async reserve(sku: string): Promise<string> {
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

it('locked methods that call each other re-enter keys that the caller holds, and acquire others', async () => {
  const app = await bench.boot({ providers: [Stock, Orders] });
  expect(await app.get(Orders).place(['a', 'a', 'b'])).toEqual(['a held 2', 'a held 2', 'b held 1']);
});

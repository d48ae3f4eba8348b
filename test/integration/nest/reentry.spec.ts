import { Injectable } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { findCurrentLock, DistributedLock, isLockTimeoutError } from 'nestjs-redis-locks';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
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

  @DistributedLock({ key: 'stock:#sku', waitTimeout: 50 })
  async atOnce(sku: string): Promise<string> {
    return sku;
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

  @DistributedLock('stock:#sku')
  async detached(sku: string, later: Promise<void>): Promise<{ child: Promise<unknown> }> {
    const child = later.then(() => this.stock.atOnce(sku)).catch((error: unknown) => error);
    return { child };
  }

  @DistributedLock('order:#id')
  async both(id: string, sku: string): Promise<string[]> {
    return Promise.all([this.stock.reserve(sku), this.stock.reserve(sku), this.stock.reserve(id)]);
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

  it('re-enter without a command to Redis', async () => {
    const { orders } = await boot();
    await orders.place(['a']);
    await bench.redis.resetCommandStats();
    await orders.place(['a', 'a', 'a']);
    const { evalsha } = await bench.redis.commandStats();
    expect(evalsha).toBe(2); // acquire and release
  });

  it('share no context across parallel requests', async () => {
    const { stock, orders } = await boot();
    await Promise.all([...'12345'].map(() => orders.place(['a', 'a'])));
    expect(stock.section('a').most).toBe(1);
  });

  it('do not re-enter each other as siblings', async () => {
    const { stock, orders } = await boot();
    await orders.both('x', 'a');
    expect(stock.section('a')).toMatchObject({ most: 1, entries: 2 });
    expect(stock.section('x')).toMatchObject({ most: 1, entries: 1 });
  });

  it('do not re-enter from a detached child after the method has ended', async () => {
    const { orders } = await boot();
    const later = deferred();
    const { child } = await orders.detached('a', later);
    await bench.occupy('stock:a');
    later.resolve();
    expect(isLockTimeoutError(await child)).toBe(true);
  });
});

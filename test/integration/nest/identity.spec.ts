import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expect, it } from '@jest/globals';
import { DistributedLock, LockService, type LockHolder } from 'nestjs-redis-locks';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { NestBench } from './support.js';

const bench = new NestBench();

@Injectable()
class Stock {
  constructor(private readonly locks: LockService) {}

  @DistributedLock('stock:#{#sku}')
  reserve(sku: string): Promise<LockHolder> {
    return this.holder(`stock:${sku}`);
  }

  @DistributedLock({ key: (sku: string) => `stock:${sku}` })
  count(sku: string): Promise<LockHolder> {
    return this.holder(`stock:${sku}`);
  }

  @DistributedLock({ key: 'stock:#{#sku}', pattern: 'stock', onContended: 'skip' })
  async refresh(sku: string): Promise<LockHolder | undefined> {
    return this.holder(`stock:${sku}`);
  }

  private async holder(key: string): Promise<LockHolder> {
    return (await this.locks.inspect(key))!.holders[0]!;
  }
}

it('a holder says in which method it is, and its pattern', async () => {
  const stock = await bench.make(Stock);
  expect(await stock.reserve('a')).toMatchObject({ pattern: 'stock:#{#sku}', method: 'Stock.reserve' });
  expect(await stock.count('a')).toMatchObject({ pattern: undefined, method: 'Stock.count' });
  expect(await stock.refresh('a')).toMatchObject({ pattern: 'stock', method: 'Stock.refresh' });
});

it('another process reads the method from the record of the holder', async () => {
  const app = await bench.boot({ providers: [Stock] }, { label: 'shop:1' });
  const observer = (await bench.boot({}, { label: 'shop:2' })).get(LockService);
  const locks = app.get(LockService);
  const service = app.get(Stock);
  const blocker = await observer.acquire('stock:b');
  const waiting = service.reserve('b');
  await eventually(async () => {
    const [waiter] = (await observer.inspect('stock:b'))!.waiters;
    expect(waiter).toMatchObject({ label: 'shop:1', method: 'Stock.reserve', client: locks.clientId });
    return true;
  });
  await blocker.release();
  await waiting;
});

it('a process logs its client id, its label and its prefix once at start', async () => {
  const lines: string[] = [];
  const log = (line: unknown): void => void lines.push(String(line));
  const app = await NestFactory.createApplicationContext(bench.locks({ label: 'shop:1', keyPrefix: 'shop' }), {
    logger: { log, warn: log, error: log },
  });
  bench.closeLater(app);
  const { clientId } = app.get(LockService);
  await app.get(LockService).run('a', () => undefined);
  const own = lines.filter((line) => line.includes(clientId));
  expect(own).toEqual([`locks 'default': client ${clientId}, label shop:1, prefix 'shop'`]);
});

import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { currentLock, DistributedLock, LockService, RedisLockModule } from 'nestjs-redis-locks';
import { Section } from '../nest/support.js';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);

describe('an application on several masters', () => {
  it('has the same module, decorator and service, and keeps its own clients open', async () => {
    @Injectable()
    class Stock {
      readonly section = new Section();
      held = 0;

      @DistributedLock({ key: 'stock:#sku' })
      async reserve(sku: string): Promise<number> {
        const lock = currentLock();
        await lock.verify();
        this.held += lock.isHeld ? 1 : 0;
        // Re-enters: no question to any master.
        return this.again(sku);
      }

      @DistributedLock({ key: 'stock:#sku' })
      again(sku: string): Promise<number> {
        expect(sku).toBe('x');
        return this.section.pass();
      }
    }
    const [a, b, c] = bench.masters;
    const client = a!.client();
    const app = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot({ connection: [client, b!.url, { host: c!.host, port: c!.port }] })],
      providers: [Stock],
    })
      .setLogger({ log() {}, warn() {}, error() {}, debug() {} })
      .compile();
    await app.init();
    const stock = app.get(Stock);
    await Promise.all(Array.from({ length: 10 }, () => stock.reserve('x')));
    expect(stock).toMatchObject({ held: 10, section: { most: 1, entries: 10 } });

    const lock = await app.get(LockService).acquire('y');
    await bench.untilHeldByAll('y');
    await lock.release();
    await app.close();
    expect(await client.ping()).toBe('PONG');
    await bench.untilNothingIsLeft();
  });
});

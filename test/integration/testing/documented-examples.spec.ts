import { readFileSync } from 'node:fs';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { currentLock, DistributedLock, getLockServiceToken, LockService, RedisLockModule } from 'nestjs-redis-locks';
import { LockTesting, RedisLockTestingModule } from 'nestjs-redis-locks/testing';

@Injectable()
class StockService {
  @DistributedLock({ key: 'stock:#{#sku}', waitTimeout: '50ms' })
  async reserve(sku: string, work: () => unknown = () => undefined): Promise<string> {
    await work();
    return sku;
  }
}

@Module({
  imports: [RedisLockModule.forRoot({ connection: 'redis://127.0.0.1:1' })],
  providers: [StockService],
})
class AppModule {}

const slowly = (): Promise<unknown> =>
  new Promise((resolve) => currentLock().signal.addEventListener('abort', resolve));

/** The examples of docs/testing.md, as they stand there. */
describe('docs/testing.md', () => {
  it('shows a testing module, recorded acquisitions, another holder and a lost lock', async () => {
    const module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot()],
      providers: [StockService],
    }).compile();
    await module.init();
    const testing = module.get(LockTesting);
    const stock = module.get(StockService);

    await stock.reserve('a-1');
    expect(testing.acquisitions.count('stock:a-1')).toBe(1);
    expect(testing.acquisitions.all).toEqual([
      { key: 'stock:a-1', mode: 'exclusive', owner: undefined, outcome: 'acquired' },
    ]);

    const other = await testing.hold('stock:a-1');
    await expect(stock.reserve('a-1')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await other.release();

    const reserved = stock.reserve('a-1', slowly);
    await testing.lose('stock:a-1');
    await expect(reserved).rejects.toMatchObject({ code: 'LOCK_LOST' });
    await module.close();
  });

  it('shows how to override the module', async () => {
    const testing = new LockTesting();
    const module = await testing.override(Test.createTestingModule({ imports: [AppModule] })).compile();
    await module.init();
    await module.get(StockService).reserve('a-1');
    expect(testing.acquisitions.count('stock:a-1')).toBe(1);
    await module.close();
  });

  it('shows how to test without Nest', async () => {
    await using testing = new LockTesting();
    const stock = testing.withLocks(new StockService());
    await stock.reserve('a-1');
    expect(testing.acquisitions.count('stock:a-1')).toBe(1);
  });

  it('shows how to advance the clock', async () => {
    await using testing = new LockTesting({ clock: 'manual' });
    const lock = await testing.service.acquire('import', { expire: '1m' });
    await testing.clock.advance(59_000);
    expect(lock.isHeld).toBe(true);
    await testing.clock.advance(1_000);
    expect(lock.isHeld).toBe(false);
  });

  it('shows mocks of the service, with the module and without it', async () => {
    const locks = { run: async (_key: string, task: () => unknown) => task() };

    Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(LockService)
      .useValue(locks);
    Test.createTestingModule({ providers: [StockService, { provide: getLockServiceToken(), useValue: locks }] });

    const withModule = Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(LockService)
      .useValue(locks);
    const withoutModule = Test.createTestingModule({
      providers: [StockService, { provide: getLockServiceToken(), useValue: locks }],
    });
    for (const builder of [withModule, withoutModule]) {
      const module = await builder.compile();
      await module.init();
      expect(await module.get(StockService).reserve('a-1')).toBe('a-1');
      await module.close();
    }
  });

  it('shows nothing else', () => {
    const lines = (text: string): string => text.replace(/^\s+/gm, '').trim();
    const tests = lines(
      ['testing/documented-examples.spec.ts', '../contract/memory.spec.ts']
        .map((path) => readFileSync(`test/integration/${path}`, 'utf8'))
        .join('\n'),
    );
    const examples = [...readFileSync('docs/testing.md', 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)];
    expect(examples).toHaveLength(9);
    for (const [, example] of examples) expect(tests).toContain(lines(example!));
  });
});

// stock.service.spec.ts
import { Test, type TestingModule } from '@nestjs/testing';
import { LockTesting, RedisLockTestingModule } from 'nestjs-redis-locks/testing';
import { StockService } from './stock.service.js';

describe('StockService', () => {
  let module: TestingModule;
  let testing: LockTesting;
  let stock: StockService;

  beforeEach(async () => {
    module = await Test.createTestingModule({
      imports: [RedisLockTestingModule.forRoot()],
      providers: [StockService],
    }).compile();
    await module.init();
    testing = module.get(LockTesting);
    stock = module.get(StockService);
  });
  afterEach(() => module.close());

  it('locks the article', async () => {
    await stock.reserve('a-1');
    expect(testing.acquisitions.count('stock:a-1')).toBe(1);
    expect(testing.acquisitions.all).toEqual([
      { key: 'stock:a-1', kind: 'exclusive', owner: undefined, outcome: 'acquired' },
    ]);
  });

  it('fails while another process holds the lock', async () => {
    const other = await testing.hold('stock:a-1');
    await expect(stock.reserve('a-1')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await other.release();
  });

  it('stops when the lock is lost', async () => {
    const watching = stock.watch('a-1');
    await testing.lose('watch:a-1');
    await expect(watching).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });
});

// app.spec.ts
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RedisLockModule } from 'nestjs-redis-locks';
import { LockTesting } from 'nestjs-redis-locks/testing';
import { StockService } from './stock.service.js';

@Module({
  imports: [RedisLockModule.forRoot({ connection: 'redis://127.0.0.1:6379' })],
  providers: [StockService],
})
class AppModule {}

it('runs the application without Redis', async () => {
  const testing = new LockTesting();
  const module = await testing.override(Test.createTestingModule({ imports: [AppModule] })).compile();
  await module.init();
  await module.get(StockService).reserve('a-1');
  expect(testing.acquisitions.count('stock:a-1')).toBe(1);
  await module.close();
});

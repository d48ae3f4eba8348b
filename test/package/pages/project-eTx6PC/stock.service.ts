// stock.service.ts
import { Injectable } from '@nestjs/common';
import { DistributedLock, LockService } from 'nestjs-redis-locks';

@Injectable()
export class StockService {
  constructor(private readonly locks: LockService) {}

  @DistributedLock({ key: 'stock:#{#sku}', waitTimeout: '500ms' })
  async reserve(sku: string): Promise<string> {
    return sku;
  }

  /** Runs until the lock is lost. */
  async watch(sku: string): Promise<void> {
    await this.locks.run(`watch:${sku}`, async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
  }
}

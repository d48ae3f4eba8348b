import { Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RedisLockModule } from 'nestjs-redis-locks';

export const REDIS_URL = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

/** How long another caller has to interfere, in ms. */
const THINKING = 2;

/**
 * The common data of all examples: balances in Redis, which lose deposits when two callers change one at the same time.
 * Each deposit reads the balance, takes its time, and writes it.
 */
@Injectable()
export class Accounts implements OnApplicationShutdown {
  private readonly redis = new Redis(REDIS_URL);

  async balance(id: string): Promise<number> {
    return Number(await this.redis.get(`balance:${id}`));
  }

  async deposit(id: string, amount: number): Promise<number> {
    const balance = await this.balance(id);
    await new Promise((resolve) => setTimeout(resolve, THINKING));
    await this.redis.set(`balance:${id}`, balance + amount);
    return balance + amount;
  }

  /** Calls that still hold a lock use the client until then. */
  async onApplicationShutdown(): Promise<void> {
    await this.redis.quit();
  }
}

/** Accounts, and the locks that they need. */
@Module({
  imports: [RedisLockModule.forRoot({ connection: REDIS_URL })],
  providers: [Accounts],
  exports: [Accounts],
})
export class AccountsModule {}

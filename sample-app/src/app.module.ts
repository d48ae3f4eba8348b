import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { LockExceptionFilter, RedisLockModule } from 'nestjs-redis-locks';
import { AppConfig } from './config/app-config.js';
import { ConfigModule } from './config/config.module.js';
import { JobsModule } from './jobs/jobs.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { RedisModule } from './redis/redis.module.js';
import { StockModule } from './stock/stock.module.js';

@Module({
  imports: [
    ConfigModule,
    RedisModule,
    RedisLockModule.forRootAsync({
      inject: [AppConfig],
      useFactory: ({ redisUrl, keyPrefix, lockLease }: AppConfig) => ({
        connection: redisUrl,
        keyPrefix: `${keyPrefix}:lock`,
        renewedLease: lockLease,
      }),
    }),
    StockModule,
    OrdersModule,
    JobsModule,
    MetricsModule,
  ],
  // A caller that does not get its lock receives 423 or 503, with Retry-After.
  providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
})
export class AppModule {}

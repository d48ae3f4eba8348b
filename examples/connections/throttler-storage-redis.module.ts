import { Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Redis } from 'ioredis';
import { RedisLockModule } from 'nestjs-redis-locks';
import { REDIS_URL } from '../support/accounts.js';
import { redisModule } from './redis.module.js';
import { Reports } from './reports.js';

const redis = redisModule(
  () => new Redis(REDIS_URL),
  (client) => client.quit(),
);

@Module({
  imports: [
    ThrottlerModule.forRootAsync({
      imports: [redis],
      inject: ['REDIS'],
      useFactory: (client: Redis) => ({
        throttlers: [{ ttl: 60_000, limit: 100 }],
        storage: new ThrottlerStorageRedisService(client),
      }),
    }),
    RedisLockModule.forRootAsync({
      imports: [redis],
      inject: ['REDIS'],
      useFactory: (connection: Redis) => ({ connection }),
    }),
  ],
  providers: [Reports],
})
export class ThrottlerStorageRedisModule {}

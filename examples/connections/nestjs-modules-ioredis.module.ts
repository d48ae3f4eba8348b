import { Module } from '@nestjs/common';
import { getRedisConnectionToken, RedisModule } from '@nestjs-modules/ioredis';
import type { Redis } from 'ioredis';
import { RedisLockModule } from 'nestjs-redis-locks';
import { REDIS_URL } from '../support/accounts.js';
import { Reports } from './reports.js';

@Module({
  imports: [
    RedisModule.forRoot({ type: 'single', url: REDIS_URL }),
    RedisLockModule.forRootAsync({
      inject: [getRedisConnectionToken()],
      useFactory: (connection: Redis) => ({ connection }),
    }),
  ],
  providers: [Reports],
})
export class NestjsModulesIoredisModule {}

import { Module } from '@nestjs/common';
import { RedisModule, RedisService } from '@songkeys/nestjs-redis';
import { RedisLockModule } from 'nestjs-redis-locks';
import { REDIS_URL } from '../support/accounts.js';
import { Reports } from './reports.js';

@Module({
  imports: [
    RedisModule.forRoot({ config: { url: REDIS_URL } }),
    RedisLockModule.forRootAsync({
      inject: [RedisService],
      useFactory: (redis: RedisService) => ({ connection: redis.getClient() }),
    }),
  ],
  providers: [Reports],
})
export class SongkeysNestjsRedisModule {}

import { CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import KeyvRedis, { createClient, Keyv, type RedisClientType } from '@keyv/redis';
import { RedisLockModule } from 'nestjs-redis-locks';
import { REDIS_URL } from '../support/accounts.js';
import { redisModule } from './redis.module.js';
import { Reports } from './reports.js';

/** node-redis, as this cache uses it. */
const redis = redisModule(
  () => createClient({ url: REDIS_URL }).on('error', () => undefined) as RedisClientType,
  (client) => client.isOpen && client.close(),
);

@Module({
  imports: [
    CacheModule.registerAsync({
      imports: [redis],
      inject: ['REDIS'],
      useFactory: (client: RedisClientType) => ({ stores: [new Keyv({ store: new KeyvRedis(client) })] }),
    }),
    RedisLockModule.forRootAsync({
      imports: [redis],
      inject: ['REDIS'],
      useFactory: (connection: RedisClientType) => ({ connection }),
    }),
  ],
  providers: [Reports],
})
export class CacheManagerModule {}

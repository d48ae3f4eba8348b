import { Global, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { AppConfig } from '../config/app-config.js';

const logger = new Logger('Redis');

/** The shop's own connection; the locks have theirs. */
@Global()
@Module({
  providers: [{ provide: Redis, inject: [AppConfig], useFactory: connect }],
  exports: [Redis],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(private readonly redis: Redis) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}

function connect({ redisUrl, keyPrefix }: AppConfig): Redis {
  const redis = new Redis(redisUrl, { keyPrefix: `${keyPrefix}:` });
  return redis.on('error', (error: Error) => logger.warn(error.message));
}

import { Inject, Module, type DynamicModule, type OnModuleDestroy } from '@nestjs/common';

/** A module with a client of the application as `REDIS`. It closes the client early: the locks have their own connections. */
export function redisModule<T extends object>(
  open: () => T | Promise<T>,
  close: (client: T) => unknown,
): DynamicModule {
  @Module({})
  class RedisModule implements OnModuleDestroy {
    constructor(@Inject('REDIS') private readonly client: T) {}

    async onModuleDestroy(): Promise<void> {
      await close(this.client);
    }
  }
  return { module: RedisModule, providers: [{ provide: 'REDIS', useFactory: open }], exports: ['REDIS'] };
}

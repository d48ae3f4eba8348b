import { messageOf } from '../common/describe.js';
import type {
  BeforeApplicationShutdown,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OnModuleInit,
} from '@nestjs/common';
import type { LockLogger } from '../common/logger.js';
import { isLockConfigError } from '../errors/index.js';
import type { LockService } from '../service/lock.service.js';
import { introduction } from './redis-lock.composition.js';
import type { ResolvedModuleOptions } from './redis-lock.options.js';
import type { LockExplorer } from './redis-lock.explorer.js';
import type { LockRegistry } from './redis-lock.registry.js';

/**
 * Starts and ends one instance with its application.
 *
 * The order at shutdown is that of Nest: requests are still in flight in `onModuleDestroy` and `beforeApplicationShutdown`,
 * and have ended before `onApplicationShutdown`. So the first hook ends all waits, and the last one releases all locks.
 * Nest calls these hooks from `app.close()`, and on signals after `app.enableShutdownHooks()`.
 */
export class LockLifecycle
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  /** Takes the service back from instances that another application has, too. */
  private takeBack: (() => void) | undefined;

  constructor(
    private readonly name: string,
    /** In tests a stand-in, which may have only some of the methods. */
    private readonly service: LockService | Partial<LockService>,
    private readonly registry: LockRegistry,
    private readonly explorer: LockExplorer,
    private readonly logger: LockLogger,
    private readonly options: ResolvedModuleOptions,
  ) {}

  async onModuleInit(): Promise<void> {
    this.registry.refuseDuplicates();
    this.explorer.check(this.name, this.logger);
    this.takeBack = this.explorer.assign(this.name, this.service as LockService);
    await this.start();
  }

  onApplicationBootstrap(): void {
    if (this.options.store === 'redis') this.service.keepProcess?.();
  }

  beforeApplicationShutdown(): void {
    (this.service.drain ?? this.service.stopWaiting)?.call(this.service);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.service.close?.();
    this.takeBack?.();
  }

  /** An application also starts without Redis: until Redis can be reached, acquiring fails with a LockStoreError. */
  private async start(): Promise<void> {
    try {
      await this.service.start?.();
      const { instance: name, clientId, label } = this.service;
      if (name === undefined || clientId === undefined || label === undefined) return;
      this.logger.log(introduction({ instance: name, clientId, label }, this.options));
    } catch (error) {
      if (isLockConfigError(error)) throw error;
      this.logger.error(`No lock can be acquired yet: ${messageOf(error)}`);
    }
  }
}

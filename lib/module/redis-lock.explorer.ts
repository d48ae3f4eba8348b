import type { ModulesContainer } from '@nestjs/core';
import { LockConfigError } from '../errors/index.js';
import { declaredInstances } from '../decorators/method-lock-metadata.js';
import { isRequestHandler, lockedHandler } from '../interceptors/request-handler.js';
import type { LockService } from '../service/lock.service.js';
import type { LockRegistry } from './redis-lock.registry.js';
import { getLockServiceToken } from './redis-lock.tokens.js';

type Provider = { metatype: unknown; instance: unknown };

/** Checks all classes with locked methods once, while the application starts. */
export class LockExplorer {
  readonly #modules: ModulesContainer;

  constructor(
    modules: ModulesContainer,
    private readonly registry: LockRegistry,
  ) {
    this.#modules = modules;
  }

  /**
   * Checks classes rather than instances, so that request-scoped providers are included.
   * @throws LockConfigError for a method that names an instance which does not exist
   */
  refuseUnknownInstances(): void {
    const names = this.registry.names();
    for (const { metatype, instance } of this.providers()) {
      for (const { instance: name, site } of declaredInstances(classOf(instance) ?? metatype)) {
        if (!names.includes(name)) throw new LockConfigError(`${site}: ${this.registry.unknownName(name)}`);
      }
    }
  }

  /**
   * Refuses `@UseLock` on a method that is no request handler: no interceptor runs around it, so nothing would be locked.
   * @throws LockConfigError for a method that is certainly no handler
   */
  refuseLocksWithoutInterceptor(): void {
    for (const { metatype, instance } of this.providers()) {
      const type = classOf(instance) ?? metatype;
      for (const { handler, site } of declaredInstances(type)) {
        const method = handler === undefined ? undefined : lockedHandler(type, handler);
        if (method === undefined || isRequestHandler(type, method)) continue;
        throw new LockConfigError(
          `${site}: this method is no request handler, so no interceptor runs and nothing would be locked: ` +
            'write @DistributedLock instead.',
        );
      }
    }
  }

  /**
   * Assigns the service to instances that Nest did not construct: `useFactory` and `useValue` have no property injection.
   */
  assign(name: string, service: LockService): void {
    const token = getLockServiceToken(name);
    for (const { instance } of this.providers()) {
      const type = classOf(instance);
      if (!declaredInstances(type).some((declared) => declared.instance === name)) continue;
      // A frozen instance gets no service, and its locked methods say so when they are called.
      Reflect.set(instance as object, token, service);
    }
  }

  private *providers(): Iterable<Provider> {
    for (const module of this.#modules.values()) {
      yield* module.providers.values();
      yield* module.controllers.values();
      yield* module.injectables.values(); // guards, pipes, interceptors
    }
  }
}

function classOf(instance: unknown): unknown {
  if (typeof instance !== 'object' || instance === null) return undefined;
  const prototype: unknown = Object.getPrototypeOf(instance);
  return typeof prototype === 'object' && prototype !== null ? prototype.constructor : undefined;
}

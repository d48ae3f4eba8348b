import type { ModulesContainer } from '@nestjs/core';
import type { LockLogger } from '../common/logger.js';
import { LockConfigError } from '../errors/index.js';
import { declaredInstances, type DeclaredInstance } from '../decorators/method-lock-metadata.js';
import { handlerKind, lockedHandler, methodOf, type HandlerKind } from '../interceptors/request-handler.js';
import type { LockService } from '../service/lock.service.js';
import type { LockRegistry } from './redis-lock.registry.js';
import { getLockServiceToken } from './redis-lock.tokens.js';

type Provider = { metatype: unknown; instance: unknown };

/** A lock of a class, which may inherit it. */
type LockOfClass = DeclaredInstance & { readonly type: unknown };

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
   * Refuses a method that names an instance which does not exist, and `@UseLock` on a method that is certainly no request
   * handler: no interceptor runs around it. Warns of methods of this instance that run without their lock, do more outside it
   * than they seem to, or have lost their return type. Checks classes rather than instances, so that request-scoped providers
   * are included.
   * @throws LockConfigError
   */
  check(instance: string, logger: LockLogger): void {
    const names = this.registry.names();
    const warnings = new Set<string>();
    for (const lock of this.locks()) {
      const { site } = lock;
      if (!names.includes(lock.instance))
        throw new LockConfigError(`${site}: ${this.registry.unknownName(lock.instance)}`);
      const kind = handlerKindOf(lock);
      if (kind === 'none' || (kind === 'field' && !this.hasFieldInterceptors()))
        throw new LockConfigError(`${site}: ${WITHOUT_INTERCEPTOR[kind]}`);
      const warning = lock.instance === instance ? warningOf(lock) : undefined;
      if (warning !== undefined) warnings.add(`${site}: ${warning}`);
    }
    for (const warning of warnings) logger.warn(warning);
  }

  /**
   * Assigns the service to instances that Nest did not construct: `useFactory` and `useValue` have no property injection.
   * Returns a function that takes it back: an instance of `useValue` may also belong to another application, which still runs.
   */
  assign(name: string, service: LockService): () => void {
    const token = getLockServiceToken(name);
    const others = new Map<object, unknown>();
    for (const { instance } of this.providers()) {
      const type = classOf(instance);
      if (!declaredInstances(type).some((declared) => declared.instance === name)) continue;
      const other: unknown = Reflect.get(instance as object, token);
      if (other !== undefined && other !== service) others.set(instance as object, other);
      // A frozen instance gets no service, and its locked methods say so when they are called.
      Reflect.set(instance as object, token, service);
    }
    return () => {
      for (const [instance, other] of others)
        if (Reflect.get(instance, token) === service) Reflect.set(instance, token, other);
    };
  }

  /** Whether the module of GraphQL has interceptors run around the fields of all types. */
  private hasFieldInterceptors(): boolean {
    return [...this.#modules.values()].some((module) => {
      const options = module.providers.get('GqlModuleOptions')?.instance as { fieldResolverEnhancers?: unknown };
      return [options?.fieldResolverEnhancers].flat().includes('interceptors');
    });
  }

  /** The locks of all classes. */
  private *locks(): Iterable<LockOfClass> {
    for (const { metatype, instance } of this.providers()) {
      const type = classOf(instance) ?? metatype;
      for (const lock of declaredInstances(type)) yield { ...lock, type };
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

/** Why an interceptor does not lock a method, by what Nest calls the method as. */
const WITHOUT_INTERCEPTOR = {
  none:
    'this method is no request handler, so no interceptor runs and nothing would be locked: ' +
    'write @DistributedLock instead.',
  field:
    'GraphQL runs no interceptor around this field, so nothing would be locked: write @DistributedLock instead, or ' +
    "fieldResolverEnhancers: ['interceptors'] among the options of GraphQLModule.",
} as const;

/** What Nest calls a method with `@UseLock` as; `undefined`: the method has none. */
function handlerKindOf({ type, wrapper, name }: LockOfClass): HandlerKind | undefined {
  const method = wrapper === undefined ? lockedHandler(type, name) : undefined;
  return method && handlerKind(type as object, method);
}

function warningOf({ type, target, name, wrapper, untyped }: LockOfClass): string | undefined {
  const { owner, method } = methodOf(type, name);
  const others = declaredInstances(type).filter((lock) => lock.target === owner && lock.name === name);
  if (owner === undefined) return undefined;
  if (owner !== target) {
    // An override that calls the method of its base class locks there.
    if (others.length > 0 || /\bsuper\b|_super/.test(Function.prototype.toString.call(method))) return undefined;
    return (
      `${owner.constructor.name} overrides the method without the decorator, so its calls take no lock: ` +
      'write the decorator above the override, too, or call the method of the base class there.'
    );
  }
  if (wrapper === undefined || others.some((lock) => lock.wrapper === method)) return untyped;
  return (
    'a decorator above it wraps the method, so the lock is released before the work of that decorator ends. If it is a ' +
    'transaction, the next holder reads data from before the commit: write @DistributedLock above the other decorator.'
  );
}

function classOf(instance: unknown): unknown {
  if (typeof instance !== 'object' || instance === null) return undefined;
  const prototype: unknown = Object.getPrototypeOf(instance);
  return typeof prototype === 'object' && prototype !== null ? prototype.constructor : undefined;
}

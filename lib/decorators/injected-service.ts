import { Inject, Optional } from '@nestjs/common';
import { LockConfigError } from '../errors/index.js';
import type { LockService } from '../service/lock.service.js';
import { DEFAULT_INSTANCE, LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import type { LockDeclaration } from './lock-declaration.js';
import { declareInstance, declaredInstances, type DeclaredInstance } from './method-lock-metadata.js';

/** The services of an application by name, provided as `LOCK_REGISTRY`. */
export interface LockServices {
  /** @throws LockConfigError that lists the known names, if there is no service with this name */
  service(name: string): LockService;
  /** The names of all services. */
  names(): string[];
  /** A message that there is no instance with this name, with the names that there are. */
  unknownName(name: string): string;
}

/**
 * Makes Nest inject the service into every instance of the class, also into request-scoped ones. A named service is optional
 * for Nest, because only the module can say in its error which names there are. The registry is not optional, so that a
 * missing module is an error.
 */
export function injectService(
  lock: Omit<DeclaredInstance, 'instance' | 'site'>,
  { instance, site, token }: LockDeclaration,
): void {
  const { target } = lock;
  const known = declaredInstances(target.constructor).some((declared) => declared.instance === instance);
  declareInstance(target.constructor, { ...lock, instance, site });
  if (known) return;
  Inject(token)(target, token);
  if (instance === DEFAULT_INSTANCE) return;
  Optional()(target, token);
  Inject(LOCK_REGISTRY)(target, LOCK_REGISTRY);
}

type Injected = { [LOCK_REGISTRY]?: LockServices } & Record<symbol, LockService | undefined>;

/**
 * The service that was injected into the instance of a call.
 * @throws LockConfigError if there is none: the method never runs unlocked instead
 */
export function serviceOf(self: unknown, { instance, site, token }: LockDeclaration): LockService {
  if (typeof self !== 'object' || self === null) {
    throw new LockConfigError(`${site} was called without its instance: bind the method, or call it on the instance.`);
  }
  const { [token]: service, [LOCK_REGISTRY]: services } = self as Injected;
  if (service !== undefined) return service;
  if (services !== undefined) throw new LockConfigError(`${site}: ${services.unknownName(instance)}`);
  throw new LockConfigError(
    `${site}: this instance has no LockService, so the method was not run. Nest injects it into instances that it ` +
      'constructs; instances from useFactory and useValue get it when the application starts. An instance made with new, ' +
      'or by a factory for each request, gets none: provide the class instead, or use LockService.run. In a test, ' +
      "import RedisLockTestingModule, or call new LockTesting().withLocks(instance), of 'nestjs-redis-locks/testing'.",
  );
}

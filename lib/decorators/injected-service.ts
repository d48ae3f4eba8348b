import { Inject, Optional } from '@nestjs/common';
import { LockConfigError } from '../errors/index.js';
import type { LockService } from '../service/lock.service.js';
import { DEFAULT_INSTANCE, getLockServiceToken, LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import type { LockDeclaration } from './lock-declaration.js';
import { declareConnection, declaredConnections } from './method-lock-metadata.js';

/** What is provided as `LOCK_REGISTRY`: the services of an application by name. */
export interface LockServices {
  /** @throws LockConfigError that lists the known names when there is none of this name */
  service(name: string): LockService;
  /** The names of all. */
  names(): string[];
  /** Says that there is no such instance, and which there are. */
  unknownName(name: string): string;
}

/**
 * Has Nest give the service to every instance of the class, also to those made on request. A named instance is optional
 * to Nest, because only the module can say which names there are instead; but some module there must be.
 */
export function injectService(target: object, { connection, site }: LockDeclaration): void {
  const known = declaredConnections(target.constructor).some((declared) => declared.connection === connection);
  declareConnection(target.constructor, { connection, site });
  if (known) return;
  const token = getLockServiceToken(connection);
  Inject(token)(target, token);
  if (connection === DEFAULT_INSTANCE) return;
  Optional()(target, token);
  Inject(LOCK_REGISTRY)(target, LOCK_REGISTRY);
}

type Injected = { [LOCK_REGISTRY]?: LockServices } & Record<symbol, LockService | undefined>;

/**
 * The service that was given to the instance of a call.
 * @throws LockConfigError when there is none: a method never runs unlocked instead
 */
export function serviceOf(self: unknown, { connection, site }: LockDeclaration): LockService {
  if (typeof self !== 'object' || self === null) {
    throw new LockConfigError(`${site} was called without its instance: bind the method, or call it on the instance.`);
  }
  const { [getLockServiceToken(connection)]: service, [LOCK_REGISTRY]: services } = self as Injected;
  if (service !== undefined) return service;
  if (services !== undefined) throw new LockConfigError(`${site}: ${services.unknownName(connection)}`);
  throw new LockConfigError(
    `${site}: this instance has no LockService, so the method was not run. Nest injects it into what it makes from a ` +
      'class; what useFactory and useValue provide gets it when the application starts. An instance made by hand, or ' +
      'by a factory for each request, gets none: provide the class instead, or use LockService.run.',
  );
}

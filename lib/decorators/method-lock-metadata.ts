import type { ParameterNames } from '../keys/index.js';
import { parameterNames } from '../keys/index.js';

/*
 * What the decorators leave behind for each other and for the module. The keys are strings, so that two loaded copies of
 * this package read each other's.
 */
const PARAMETERS = 'nestjs-redis-locks:parameters';
const CONNECTIONS = 'nestjs-redis-locks:connections';

/** A place in the code that needs an instance of the module. */
export interface DeclaredConnection {
  readonly connection: string;
  /** For messages: `@DistributedLock on StockService.reserve`. */
  readonly site: string;
  /** Of `@UseLock`: the method, which only an interceptor locks. */
  readonly handler?: string | symbol;
}

/** The parameter names of a method, also behind a wrapper that shows no source but handed on the metadata. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- whatever a descriptor holds
export const namesOf = (method: Function): ParameterNames =>
  (Reflect.getOwnMetadata(PARAMETERS, method) as ParameterNames | undefined) ?? parameterNames(method);

/** Hands the names on to whoever decorates the wrapper next. */
export const handOnNames = (wrapper: object, names: ParameterNames): void =>
  Reflect.defineMetadata(PARAMETERS, names, wrapper);

/** Notes on the class which instance a lock of it needs. */
export function declareConnection(type: object, declared: DeclaredConnection): void {
  Reflect.defineMetadata(CONNECTIONS, [...declaredConnections(type), declared], type);
}

/** The instances that the locks of a class need, inherited ones included. */
export function declaredConnections(type: unknown): readonly DeclaredConnection[] {
  if (typeof type !== 'function') return [];
  return (Reflect.getMetadata(CONNECTIONS, type) as DeclaredConnection[] | undefined) ?? [];
}

import type { ParameterNames } from '../keys/index.js';
import { parameterNames } from '../keys/index.js';

/*
 * Metadata that the decorators write for each other and for the module. The keys are strings, so that two loaded copies of
 * this package can read each other's metadata.
 */
const PARAMETERS = 'nestjs-redis-locks:parameters';
const INSTANCES = 'nestjs-redis-locks:instances';

/** A place in the code that needs an instance of the module. */
export interface DeclaredInstance {
  readonly instance: string;
  /** For messages: `@DistributedLock on StockService.reserve`. */
  readonly site: string;
  /** Of `@UseLock`: the method, which only an interceptor locks. */
  readonly handler?: string | symbol;
}

/** The parameter names of a method, also behind a wrapper that hides the source but copies the metadata. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- any function of a descriptor
export const namesOf = (method: Function): ParameterNames =>
  (Reflect.getOwnMetadata(PARAMETERS, method) as ParameterNames | undefined) ?? parameterNames(method);

/** Passes the names on to the next decorator of the wrapper. */
export const handOnNames = (wrapper: object, names: ParameterNames): void =>
  Reflect.defineMetadata(PARAMETERS, names, wrapper);

/** Records on the class which module instance a lock needs. */
export function declareInstance(type: object, declared: DeclaredInstance): void {
  Reflect.defineMetadata(INSTANCES, [...declaredInstances(type), declared], type);
}

/** The instances that the locks of a class need, inherited ones included. */
export function declaredInstances(type: unknown): readonly DeclaredInstance[] {
  if (typeof type !== 'function') return [];
  return (Reflect.getMetadata(INSTANCES, type) as DeclaredInstance[] | undefined) ?? [];
}

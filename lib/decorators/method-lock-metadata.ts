import type { ParameterNames } from '../keys/index.js';
import { methodParameterNames } from '../keys/index.js';

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
  /** The method, and the prototype that declares it. */
  readonly name: string | symbol;
  readonly target: object;
  /** Of `@DistributedLock`: the method that locks. Without it, an interceptor locks the method. */
  readonly wrapper?: object;
  /** What the start says of a method whose return type the compiler has not kept. */
  readonly untyped?: string | undefined;
}

/** The parameter names of a method, also behind wrappers of other decorators. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- any function of a descriptor
export const namesOf = (method: Function, target: object, name: string | symbol): ParameterNames =>
  (Reflect.getOwnMetadata(PARAMETERS, method) as ParameterNames | undefined) ??
  methodParameterNames(method, target.constructor, name);

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

import type { ParameterNames } from '../keys/index.js';
import { methodParameterNames } from '../keys/index.js';

/*
 * Metadata that the decorators write for each other and for the module. The keys are strings, so that two loaded copies of
 * this package can read each other's metadata.
 */
const PARAMETERS = 'nestjs-redis-locks:parameters';
const RETURNS = 'nestjs-redis-locks:returns';
const INSTANCES = 'nestjs-redis-locks:instances';

/** The kind of result: the lock is held until the promise settles, or while there is a subscription. */
export type ReturnKind = 'promise' | 'observable';

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

/** What a lock below this one knows of the result of the method; `undefined`: there is no such lock. */
export const kindOf = (method: object): ReturnKind | undefined =>
  Reflect.getOwnMetadata(RETURNS, method) as ReturnKind | undefined;

/** Passes on to the next decorator what the wrapper does not show of its method. */
export function handOn(wrapper: object, names: ParameterNames, kind: ReturnKind): void {
  Reflect.defineMetadata(PARAMETERS, names, wrapper);
  Reflect.defineMetadata(RETURNS, kind, wrapper);
}

/** Records on the class which module instance a lock needs. */
export function declareInstance(type: object, declared: DeclaredInstance): void {
  Reflect.defineMetadata(INSTANCES, [...declaredInstances(type), declared], type);
}

/** The instances that the locks of a class need, inherited ones included. */
export function declaredInstances(type: unknown): readonly DeclaredInstance[] {
  if (typeof type !== 'function') return [];
  return (Reflect.getMetadata(INSTANCES, type) as DeclaredInstance[] | undefined) ?? [];
}

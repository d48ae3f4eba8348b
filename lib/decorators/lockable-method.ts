import { types } from 'node:util';
import { isFunction, isGenerator } from '../common/type-guards.js';
import { LockConfigError } from '../errors/index.js';
import { kindOf, type ReturnKind } from './method-lock-metadata.js';

export type Method = (this: unknown, ...args: any[]) => unknown;

/**
 * The method that a decorator was written on.
 * @throws LockConfigError if it is not a method of instances; the message says what to do instead
 */
export function lockableMethod(
  decorator: string,
  target: object,
  name: string | symbol | undefined,
  descriptor: PropertyDescriptor | number | undefined,
): { descriptor: PropertyDescriptor; method: Method; className: string; methodName: string } {
  if (typeof name === 'object') {
    throw new LockConfigError(`${decorator} needs "experimentalDecorators": true in tsconfig.json, as Nest does.`);
  }
  if (name === undefined)
    throw new LockConfigError(`${decorator} belongs on a method, not on ${nameOf(target)} itself.`);

  const methodName = String(name);
  const className = nameOf(typeof target === 'function' ? target : target.constructor);
  const wrong = misplaced(target, descriptor);
  if (wrong !== undefined) throw new LockConfigError(`${decorator} on ${className}.${methodName}: ${wrong}.`);
  const found = descriptor as PropertyDescriptor;
  return { descriptor: found, method: found.value as Method, className, methodName };
}

/** Why a decorator is not on a method of instances. */
function misplaced(target: object, descriptor: PropertyDescriptor | number | undefined): string | undefined {
  if (typeof descriptor === 'number') return 'this is a parameter: write the decorator above the method';
  if (typeof target === 'function') return 'a static method has no injected LockService; make it an instance method';
  if (descriptor === undefined) return 'this is a property, whose function does not exist yet: write it as a method';
  const method: unknown = descriptor.value;
  if (!isFunction(method)) return 'only methods can be locked, not getters and setters: make it an async method';
  if (isGenerator(method)) return 'a generator runs only while it is iterated: return a promise or an Observable';
  return undefined;
}

/** Types that TypeScript emits for methods that are certainly synchronous. */
const SYNCHRONOUS = new Set<unknown>([String, Number, Boolean, BigInt, Symbol, Array, Map, Set, Date]);

/** What is known of the result of a method when its class is defined. */
export interface KnownResult {
  readonly kind: ReturnKind;
  /** What the start says of a method whose return type the compiler has not kept. */
  readonly untyped?: string;
}

/**
 * The kind of result of a method. The compiler emits the declared return type, but not an inferred one or a union, and some
 * compilers emit nothing: such a method counts as one with a promise.
 * @param returns the option of that name
 * @throws LockConfigError for a method that is known to be synchronous
 */
export function knownResult(
  site: string,
  method: Method,
  target: object,
  name: string | symbol,
  returns: ReturnKind | undefined,
): KnownResult {
  const known = returns ?? kindOf(method);
  if (known !== undefined) return { kind: known };
  if (types.isAsyncFunction(method)) return { kind: 'promise' };
  const type: unknown = Reflect.getMetadata('design:returntype', target, name);
  if (isObservableType(type)) return { kind: 'observable' };
  if (SYNCHRONOUS.has(type)) {
    throw new LockConfigError(
      `${site}: the method returns ${nameOf(type as object)} at once, before the lock could be acquired: make it async.`,
    );
  }
  if (Reflect.hasMetadata('design:returntype', target, name)) return { kind: 'promise' };
  const untyped =
    'the compiler or bundler has dropped the return type, so the method has to return a promise: make it async, or write ' +
    "returns: 'promise'. If it returns an Observable, write returns: 'observable'.";
  return { kind: 'promise', untyped };
}

/** Checks the shape, because there may be several copies of RxJS. */
function isObservableType(type: unknown): boolean {
  if (typeof type !== 'function') return false;
  const prototype = type.prototype as { subscribe?: unknown; pipe?: unknown } | undefined;
  return typeof prototype?.subscribe === 'function' && typeof prototype.pipe === 'function';
}

const nameOf = (type: object): string => (type as { name?: string }).name || 'an anonymous class';

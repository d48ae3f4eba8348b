import { LockConfigError } from '../errors/index.js';

export type Method = (this: unknown, ...args: any[]) => unknown;

/** How a locked method answers: the lock lasts until the promise settles, or as long as there is a subscription. */
export type ReturnKind = 'promise' | 'observable';

/**
 * What a decorator was put on, if it is a method of instances.
 * @throws LockConfigError for anything else, which says what to do instead
 */
export function lockableMethod(
  decorator: string,
  target: object,
  name: string | symbol | undefined,
  descriptor: PropertyDescriptor | undefined,
): { descriptor: PropertyDescriptor; method: Method; className: string; methodName: string } {
  if (typeof name === 'object') {
    throw new LockConfigError(`${decorator} needs "experimentalDecorators": true in tsconfig.json, as Nest does.`);
  }
  if (name === undefined)
    throw new LockConfigError(`${decorator} belongs on a method, not on ${nameOf(target)} itself.`);

  const methodName = String(name);
  const className = nameOf(typeof target === 'function' ? target : target.constructor);
  const site = `${decorator} on ${className}.${methodName}`;
  if (typeof target === 'function') {
    throw new LockConfigError(
      `${site}: a static method has no injected LockService; make it a method of the instance.`,
    );
  }
  if (descriptor === undefined) {
    throw new LockConfigError(`${site}: this is a property, whose function is made later: write it as a method.`);
  }
  const method: unknown = descriptor.value;
  if (typeof method !== 'function') {
    throw new LockConfigError(`${site}: only methods can be locked, not getters and setters: make it an async method.`);
  }
  if (/Generator/.test(tagOf(method))) {
    throw new LockConfigError(
      `${site}: a generator runs only while it is iterated: return a promise or an Observable.`,
    );
  }
  return { descriptor, method: method as Method, className, methodName };
}

/** Types that TypeScript notes for methods which are neither asynchronous nor `any`. */
const SYNCHRONOUS = new Set<unknown>([String, Number, Boolean, BigInt, Symbol, Array, Map, Set, Date]);

/**
 * How a method answers, from what is known when the class is defined. The compiler notes the declared return type, but
 * not an inferred one or a union, and some compilers note nothing: those are taken for promises.
 * @throws LockConfigError for a method that is known to be synchronous
 */
export function returnKind(site: string, method: Method, returnType: unknown, returns: unknown): ReturnKind {
  if (returns !== undefined && returns !== 'promise' && returns !== 'observable') {
    throw new LockConfigError(`${site}: returns must be 'promise' or 'observable'.`);
  }
  if (returns !== undefined) return returns;
  if (tagOf(method) === '[object AsyncFunction]') return 'promise';
  if (isObservableType(returnType)) return 'observable';
  if (!SYNCHRONOUS.has(returnType)) return 'promise';
  throw new LockConfigError(
    `${site}: the method returns ${nameOf(returnType as object)} at once, before a lock could be had: make it async.`,
  );
}

/** By shape, because there may be several copies of RxJS. */
function isObservableType(type: unknown): boolean {
  if (typeof type !== 'function') return false;
  const prototype = type.prototype as { subscribe?: unknown; pipe?: unknown } | undefined;
  return typeof prototype?.subscribe === 'function' && typeof prototype.pipe === 'function';
}

const tagOf = (value: unknown): string => Object.prototype.toString.call(value);

const nameOf = (type: object): string => (type as { name?: string }).name || 'an anonymous class';

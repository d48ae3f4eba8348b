import { types } from 'node:util';

export const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
export const isFunction = (value: unknown): boolean => typeof value === 'function';
export const isClass = (value: unknown): boolean =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
/** Whether a value is a function that may return a result at once. */
export const isSyncFunction = (value: unknown): boolean =>
  isFunction(value) && !types.isAsyncFunction(value) && !isClass(value);
/** Whether a value is an error, also of another realm, such as Node's own inside a Jest test. */
export const isError = (value: unknown): value is Error => value instanceof Error || types.isNativeError(value);
/** Whether an object has these methods, as a client has that any copy of a package has made. */
export const hasMethods = (value: unknown, ...names: readonly string[]): value is Record<string, unknown> =>
  isObject(value) && names.every((name) => typeof value[name] === 'function');
/** Whether a value has a `then`, as promises and the queries of some ORMs have. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
/** Whether a value is a generator, or a function that makes one: its code runs only while it is iterated. */
export const isGenerator = (value: unknown): boolean =>
  types.isGeneratorObject(value) || types.isGeneratorFunction(value);
/** Whether a value is an Observable of any copy of RxJS. A proxy is none: it may have any property. */
export const isObservable = (value: unknown): boolean =>
  !types.isProxy(value) && hasMethods(value, 'lift', 'subscribe');

import { isClass, isObject } from '../common/type-guards.js';
import { LockConfigError } from '../errors/index.js';
import { isMethodKey } from './method-key.js';
import type { LockMethodOptions } from './lock-method.options.js';

/**
 * Reads the arguments of `@DistributedLock` and `@UseLock`: an object of options, or key, expire, maxRenewTimes.
 * @throws LockConfigError if the decorator was written without parentheses, and so was called with the method itself
 */
export function readLockArguments<Options extends LockMethodOptions>(decorator: string, written: unknown[]): Options {
  const [first, second, third] = written;
  const several = Array.isArray(first) || isMethodKey(first);
  if (!several && isDecorating(first, second, third)) {
    throw new LockConfigError(
      `${decorator} was written without parentheses: write ${decorator}({ key: … }), or ${decorator}('stock:#{#order.sku}').`,
    );
  }
  if (several || typeof first === 'string' || typeof first === 'function') {
    const byPosition: unknown = { key: first, expire: second, maxRenewTimes: third };
    return byPosition as Options;
  }
  if (second !== undefined) {
    throw new LockConfigError(
      `${decorator} takes either one object of options or key, expire, maxRenewTimes: write { key: …, expire: … }.`,
    );
  }
  return first as Options; // checked where it is known which method it is for
}

/** Whether these are the arguments with which the compiler calls a decorator, legacy or standard. */
function isDecorating(first: unknown, second: unknown, third: unknown): boolean {
  if (typeof first === 'function') {
    const standard = isObject(second) && 'kind' in second;
    // A class, or its static method.
    return standard || isObject(third) || isClass(first);
  }
  const named = typeof second === 'string' || typeof second === 'symbol';
  return isObject(first) && named && !Object.hasOwn(first, 'key');
}

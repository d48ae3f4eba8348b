import { isObject, isText } from '../common/type-guards.js';
import { LockConfigError } from '../errors/index.js';
import { assertKey, encodeKeyPart } from '../keys/index.js';
import type { TemplateSite } from '../keys/index.js';

/** Marks what `methodKey` returns; a symbol by description, for two copies of this package. */
const PREFIX: unique symbol = Symbol.for('nestjs-redis-locks:method-key') as never;

/** A key that is made of a prefix and the names of the class and the method: see {@link methodKey}. */
export interface MethodKey {
  /** Not part of the public API. */
  readonly [PREFIX]: string;
}

/**
 * Returns a key made of a prefix, the name of the class and that of the method: `jobs:ReportService.nightly`. All calls of
 * the method exclude each other. Renaming the class or the method changes the key, and a minifier that renames classes
 * changes it with every build: replicas of two builds then do not exclude each other. If your build does that, write a text
 * instead. In a subclass that inherits the method, the class is the subclass, so two subclasses do not exclude each other.
 *
 * Write `@DistributedLock(methodKey('jobs'))` above the method.
 * @throws LockConfigError for a prefix that is not a text
 */
export function methodKey(prefix: string): MethodKey {
  if (isText(prefix)) return Object.freeze({ [PREFIX]: prefix });
  throw new LockConfigError("methodKey takes a prefix that tells applications apart: write methodKey('jobs').");
}

export const isMethodKey = (key: unknown): key is MethodKey => isObject(key) && Object.hasOwn(key, PREFIX);

/**
 * The key of a method.
 * @throws LockConfigError for a class or a method without a name that could stand in a key
 */
export function keyOfMethod(label: string, key: MethodKey, { className, methodName }: TemplateSite): string {
  if (
    /^\w/.test(className) &&
    !/^(an anonymous class$|Symbol\()/.test(className) &&
    !methodName.startsWith('Symbol(')
  ) {
    return assertKey(`${key[PREFIX]}:${encodeKeyPart(className)}.${encodeKeyPart(methodName)}`);
  }
  throw new LockConfigError(
    `${label}: methodKey needs a class and a method that have names: write a text such as key: 'jobs:nightly'.`,
  );
}

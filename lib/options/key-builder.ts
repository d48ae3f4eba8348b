import { checked, isFunction } from './option-readers.js';

/** The call for which a {@link KeyBuilder} makes a key. */
export interface LockedMethodCall {
  /** The class of the instance. */
  readonly className: string;
  readonly methodName: string;
  /** The arguments of the method; of `@UseLock`: the request and the context. */
  readonly args: readonly unknown[];
}

/** Makes the final key of a locked method out of the key that the decorator gives. */
export type KeyBuilder = (key: string, call: LockedMethodCall) => string;

export const readKeyBuilder = checked<KeyBuilder>(
  isFunction,
  'a function that returns the key: (key) => `${tenant()}:${key}`',
);

import { describe } from '../common/describe.js';
import { LockConfigError } from '../errors/index.js';

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

/** @throws LockConfigError */
export function readKeyBuilder(label: string, written: unknown): KeyBuilder | undefined {
  if (written === undefined || typeof written === 'function') return written as KeyBuilder | undefined;
  throw new LockConfigError(
    `${label} is ${describe(written)}; write a function that returns the key: (key) => \`\${tenant()}:\${key}\`.`,
  );
}

import { fromCaller } from '../common/from-caller.js';
import { UseInterceptors, type ExecutionContext } from '@nestjs/common';
import type { Duration } from '../common/duration.js';
import { declareInstance } from '../decorators/method-lock-metadata.js';
import { readLockArguments } from '../decorators/lock-arguments.js';
import { declareLock, type LockDeclaration } from '../decorators/lock-declaration.js';
import type { LockKey, LockMethodOptions } from '../decorators/lock-method.options.js';
import { lockableMethod } from '../decorators/lockable-method.js';
import { DistributedLockInterceptor } from './distributed-lock.interceptor.js';
import type { RequestParts } from './request-parts.js';
import { declaredLocks, setDeclaredLocks } from './request-handler.js';

/** The arguments of functions among the options of `@UseLock`. */
export type UseLockArgs = [request: RequestParts, context: ExecutionContext];

/**
 * The options of `@UseLock`: those of `@DistributedLock`, over the request instead of the method's arguments. A function as
 * `onContended` or `onUnavailable` may return another type than the handler: its value is a response, such as
 * `{ status: 'busy' }`, which only Nest receives.
 */
export type UseLockOptions = LockMethodOptions<UseLockArgs>;

/**
 * Locks a request handler by a key from the request: `@UseLock({ key: 'order:#{#params.id}' })`, below
 * `@Post('orders/:id')`.
 *
 * It binds the `DistributedLockInterceptor`. The lock is acquired after the guards and before the pipes, and held until the
 * handler's promise or Observable ends; the handler may be synchronous. If the client disconnects, the wait ends. Templates
 * and functions see the request (`RequestParts`), not the handler's arguments: use `@DistributedLock` for those. Several
 * `@UseLock` on one handler are acquired from top to bottom. With `onContended: 'skip'` the response is empty.
 *
 * Nest runs interceptors only around handlers, so on any other method nothing would be locked: the application does not
 * start. Write `@DistributedLock` there.
 * @throws LockConfigError and LockKeyError when the class is defined, for options and templates that cannot be used
 */
export function UseLock(options: UseLockOptions): MethodDecorator;
export function UseLock(key: LockKey<UseLockArgs>, expire?: Duration, maxRenewTimes?: number): MethodDecorator;
export function UseLock(...written: unknown[]): MethodDecorator {
  const options = fromCaller(() => readLockArguments<LockMethodOptions>('@UseLock', written), UseLock);
  const decorate = (target: object, name: string | symbol, declared: PropertyDescriptor): void => {
    const { descriptor, method, ...site } = lockableMethod('@UseLock', target, name, declared);
    const lock: LockDeclaration = declareLock(
      { decorator: '@UseLock', ...site, parameters: { names: [] }, request: true },
      options,
    );
    const others = declaredLocks(method);
    declareInstance(target.constructor, { instance: lock.instance, site: lock.site, name, target });
    setDeclaredLocks(method, [lock, ...others]);
    if (others.length === 0) UseInterceptors(DistributedLockInterceptor)(target, name, descriptor);
  };
  return function decorator(target, name, declared): void {
    fromCaller(() => decorate(target, name, declared), decorator);
  };
}

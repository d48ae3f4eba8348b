import { Inject, Optional } from '@nestjs/common';
import type { Duration } from '../common/duration.js';
import { fromCaller } from '../common/from-caller.js';
import { DEFAULT_INSTANCE, LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import { readLockArguments } from './lock-arguments.js';
import { declareLock, type LockDeclaration } from './lock-declaration.js';
import { declareInstance, declaredInstances, handOn, namesOf, type DeclaredInstance } from './method-lock-metadata.js';
import type { DistributedLockOptions, LockKey } from './lock-method.options.js';
import type { LockMethodDecorator } from './lock-method.types.js';
import type { OnContended, OnUnavailable } from '../options/acquire-options.js';
import { knownResult, lockableMethod } from './lockable-method.js';
import { lockedMethod } from './locked-call.js';

/**
 * Runs one call of a method at a time for each key, on all machines. Write it above a method such as
 * `async reserve(order: Order) { … }`:
 *
 * - `@DistributedLock({ key: 'stock:#{#order.sku}' })`, with all options
 * - `@DistributedLock('stock:#{#order.sku}', '30s')`, by position: key, expire, maxRenewTimes
 *
 * The method returns a promise or an Observable. The lock is released when the promise settles. An Observable is locked
 * from subscribe to complete, error or unsubscribe; each subscription calls the method. The decorator works on any method of
 * a class that Nest instantiates (providers, controllers, gateways, resolvers), above or below other decorators. It keeps
 * their metadata and the method's name and length. On request handlers it locks after the pipes, with their results as
 * arguments.
 *
 * The call fails with the error of the method, if it throws. Otherwise it fails with
 *
 * - `LockTimeoutError`: others held the lock for the whole `waitTimeout`. See `onContended`
 * - `LockStoreError`: Redis failed, and the method did not run. See `onUnavailable`
 * - `LockKeyError`: no key can be made from the arguments
 * - `LockLostError`: the lock was lost before the method ended. See `onLost`
 *
 * @throws LockConfigError and LockKeyError when the class is defined, for options and templates that cannot be used
 */
export function DistributedLock<
  Args extends any[] = any[],
  Contended extends OnContended = OnContended,
  Unavailable extends OnUnavailable = OnUnavailable,
>(options: DistributedLockOptions<Args, Contended, Unavailable>): LockMethodDecorator<Args, Contended, Unavailable>;
export function DistributedLock<Args extends any[] = any[]>(
  key: LockKey<Args>,
  expire?: Duration,
  maxRenewTimes?: number,
): LockMethodDecorator<Args>;
export function DistributedLock(...written: unknown[]): LockMethodDecorator<any[]> {
  const options = fromCaller(
    () => readLockArguments<DistributedLockOptions>('@DistributedLock', written),
    DistributedLock,
  );
  const decorate = (target: object, name: string | symbol, declared?: PropertyDescriptor): void => {
    const { descriptor, method, ...site } = lockableMethod('@DistributedLock', target, name, declared);
    const parameters = namesOf(method, target, name);
    const lock = declareLock({ decorator: '@DistributedLock', ...site, parameters }, options);
    const { kind, untyped } = knownResult(lock.site, method, target, name, options.returns);

    const wrapper = lockedMethod(method, lock, kind);
    injectService({ target, name, wrapper, untyped }, lock);
    copyMetadata(method, wrapper);
    handOn(wrapper, parameters, kind);
    // In place, because `applyDecorators` of Nest ignores the descriptor that a decorator returns.
    descriptor.value = wrapper;
  };
  return function decorator(...declaration: Parameters<typeof decorate>): void {
    fromCaller(() => decorate(...declaration), decorator);
  };
}

function copyMetadata(from: object, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, from), to);
  }
}

/**
 * Makes Nest inject the service into every instance of the class, also into request-scoped ones. A named service is optional
 * for Nest, because only the module can say in its error which names there are. The registry is not optional, so that a
 * missing module is an error.
 */
function injectService(
  lock: Omit<DeclaredInstance, 'instance' | 'site'>,
  { instance, site, token }: LockDeclaration,
): void {
  const { target } = lock;
  // A record of `@UseLock` has no wrapper, and injects nothing.
  const isInjected = declaredInstances(target.constructor).some(
    (declared) => declared.instance === instance && declared.wrapper !== undefined,
  );
  declareInstance(target.constructor, { ...lock, instance, site });
  if (isInjected) return;
  Inject(token)(target, token);
  if (instance === DEFAULT_INSTANCE) return;
  Optional()(target, token);
  Inject(LOCK_REGISTRY)(target, LOCK_REGISTRY);
}

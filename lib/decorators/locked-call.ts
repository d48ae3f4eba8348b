import {
  defer,
  EMPTY,
  filter,
  from,
  isObservable,
  Observable,
  of,
  Subject,
  takeUntil,
  takeWhile,
  tap,
  type Subscriber,
} from 'rxjs';
import {
  isLockStoreError,
  isLockTimeoutError,
  LockConfigError,
  LockStoreError,
  LockTimeoutError,
} from '../errors/index.js';
import type { LockService, LockServices } from '../service/lock.service.js';
import { LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import type { CallDefaults } from '../options/resolve-acquire-options.js';
import type { LockedCall } from '../keys/index.js';
import type { LockDeclaration } from './lock-declaration.js';
import type { Method } from './lockable-method.js';
import type { ReturnKind } from './method-lock-metadata.js';
import { namesOfKeys } from '../common/describe.js';
import { isObject, isThenable } from '../common/type-guards.js';

/** Finds the service of a call. Throws if there is none: the method never runs unlocked instead. */
export type ServiceOf = (self: unknown, declaration: LockDeclaration) => LockService;

/** What the caller of a method that did not run gets: the value of `fallback`, or nothing if the call is skipped. */
type Instead = (fallback: (() => unknown) | undefined) => unknown;

const valueOf: Instead = (fallback) => fallback?.();

/** The method that locks. A proxy, so that the name, the length and all properties of the method stay visible. */
export function lockedMethod(method: Method, lock: LockDeclaration, kind: ReturnKind): Method {
  const call = kind === 'observable' ? lockObservable : lockPromise;
  return new Proxy(method, {
    apply: (target, self: object, args: unknown[]) =>
      call(lock, { self, args }, serviceOf, () => Reflect.apply(target, self, args)),
  });
}

type Injected = { [LOCK_REGISTRY]?: LockServices } & Record<symbol, LockService | undefined>;

/**
 * The service that was injected into the instance of a call.
 * @throws LockConfigError if there is none: the method never runs unlocked instead
 */
function serviceOf(self: unknown, { instance, site, token }: LockDeclaration): LockService {
  if (typeof self !== 'object' || self === null) {
    throw new LockConfigError(`${site} was called without its instance: bind the method, or call it on the instance.`);
  }
  const { [token]: service, [LOCK_REGISTRY]: services } = self as Injected;
  if (typeof service?.run === 'function') return service;
  if (service !== undefined) {
    throw new LockConfigError(
      `${site}: the stand-in for LockService has no run(): write { run: async (_key, task) => task() }, or ` +
        "import RedisLockTestingModule of 'nestjs-redis-locks/testing'.",
    );
  }
  if (services !== undefined) throw new LockConfigError(`${site}: ${services.unknownName(instance)}`);
  throw new LockConfigError(
    `${site}: this instance has no LockService, so the method was not run. Nest injects it into instances that it ` +
      'constructs; instances from useFactory and useValue get it when the application starts. An instance made with new, ' +
      'or by a factory for each request or in a lazy-loaded module, gets none: provide the class instead, or use ' +
      'LockService.run. In a test, ' +
      "import RedisLockTestingModule, or call new LockTesting().withLocks(instance), of 'nestjs-redis-locks/testing'.",
  );
}

/** Calls a method that returns a promise, while holding its lock. `signal` ends the wait. */
async function lockPromise(
  declaration: LockDeclaration,
  call: LockedCall,
  serviceOf: ServiceOf,
  method: () => unknown,
  instead = valueOf,
  signal?: AbortSignal,
): Promise<unknown> {
  const service = serviceOf(call.self, declaration);
  if (declaration.applies?.(call) === false) return promised(declaration, method());

  const defaults: Defaults = isObject(service.defaults) ? service.defaults : NO_DEFAULTS;
  const { keyOf, builtKeys, options, context } = declaration;
  const named = keyOf(call);
  const keys = defaults.keyBuilder === undefined ? named : builtKeys(call, named, defaults.keyBuilder);
  let entered = false;
  const enter = (): PromiseLike<unknown> => {
    entered = true;
    return promised(declaration, method());
  };
  try {
    return await service.run(keys, enter, options, signal === undefined ? context : { ...context, signal });
  } catch (thrown) {
    // An error from within the method belongs to another lock, and is an error of the method like any other.
    if (entered) throw thrown;
    const reaction = reactionTo(thrown, declaration, defaults);
    if (reaction === 'skip') return instead(undefined);
    const error = withSite(thrown, declaration, keys);
    if (reaction === 'throw') throw error;
    return instead(() => reaction.call(call.self, error, ...call.args));
  }
}

export interface LockObservableOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Emitted if the call is skipped; default: nothing. */
  readonly skipped?: Observable<unknown>;
  /** Whether the work of the source continues until its first value, even if the subscriber leaves: it is that of a promise. */
  readonly runsOn?: boolean;
}

/**
 * Opens an Observable while holding its lock, separately for each subscription. The lock is acquired on subscribe, and
 * released on complete, error or unsubscribe, before the subscriber is notified. Unsubscribing also ends the wait.
 */
export function lockObservable(
  declaration: LockDeclaration,
  call: LockedCall,
  serviceOf: ServiceOf,
  open: () => unknown,
  { signal, skipped = EMPTY, runsOn = false }: LockObservableOptions = {},
): Observable<unknown> {
  return new Observable((subscriber) => {
    const gone = new AbortController();
    const stop = new Subject<void>();
    subscriber.add(() => {
      gone.abort();
      stop.next();
    });
    const drained = (source: () => Observable<unknown>): Promise<void> =>
      drain(defer(source), subscriber, stop, runsOn);
    const work = (): Promise<void> => drained(() => observable(declaration, open()));
    const instead: Instead = (fallback) => drained(() => (fallback === undefined ? skipped : emitted(fallback())));
    const ended = signal === undefined ? gone.signal : AbortSignal.any([gone.signal, signal]);
    lockPromise(declaration, call, serviceOf, work, instead, ended).then(
      () => subscriber.complete(),
      (error: unknown) => subscriber.error(error),
    );
  });
}

/**
 * Forwards the values of the source; resolves when it completes or is stopped, and rejects with its error. A source that runs
 * on is stopped by its first value.
 */
function drain(
  source: Observable<unknown>,
  subscriber: Subscriber<unknown>,
  stop: Observable<void>,
  runsOn: boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // Unsubscribed at the moment of the grant: there is no subscriber left.
    if (subscriber.closed) return resolve();
    let isRunning = runsOn;
    const work = source.pipe(
      tap(() => (isRunning = false)),
      takeWhile(() => !subscriber.closed),
      takeUntil(stop.pipe(filter(() => !isRunning))),
    );
    work.subscribe({
      next: (value) => subscriber.next(value),
      error: reject,
      complete: resolve,
    });
  });
}

/** An error of the lock does not name the caller, so the error of a method names the method and its key. */
function withSite(
  error: unknown,
  { site, context: { method } }: LockDeclaration,
  keys: string | readonly string[],
): unknown {
  if (isLockTimeoutError(error)) {
    const { message, key = [keys].flat()[0]!, holder } = error;
    return new LockTimeoutError(`${site}: ${message}`, { key, method, holder });
  }
  if (!isLockStoreError(error)) return error;
  const { message, transient } = error;
  const names = [keys].flat();
  return new LockStoreError(`${site} could not lock ${namesOfKeys(names)}: ${message}`, {
    key: error.key ?? names[0]!,
    method,
    transient,
    cause: error,
  });
}

/** What a caller gets in place of an error. */
type Reaction = 'throw' | 'skip' | ((error: any, ...args: any[]) => unknown);

/** What applies to methods unless their own options say otherwise. */
type Defaults = Partial<CallDefaults>;

/** Those of a stand-in for the service in a test, which may have a function in their place. */
const NO_DEFAULTS: Defaults = {};

/** What the caller of a method that did not run gets. */
function reactionTo(error: unknown, { context, onUnavailable }: LockDeclaration, defaults: Defaults): Reaction {
  if (isLockTimeoutError(error)) return context.onContended ?? defaults.onContended ?? 'throw';
  if (!isLockStoreError(error)) return 'throw';
  return onUnavailable ?? defaults.onUnavailable ?? 'throw';
}

function promised({ site }: LockDeclaration, result: unknown): PromiseLike<unknown> {
  if (isThenable(result)) return result;
  throw new LockConfigError(
    isObservable(result)
      ? `${site}: the method returned an Observable, but its declared type does not say so: add returns: 'observable'.`
      : `${site}: the method returned no promise, so the lock would be released before its work ends: make it async.`,
  );
}

function observable({ site }: LockDeclaration, result: unknown): Observable<unknown> {
  if (isObservable(result)) return result;
  throw new LockConfigError(
    `${site}: the method returned no Observable, but its declaration says so: correct its return type, or the option returns.`,
  );
}

const emitted = (value: unknown): Observable<unknown> =>
  isObservable(value) ? value : isThenable(value) ? from(value) : of(value);

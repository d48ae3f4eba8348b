import { defer, EMPTY, from, isObservable, Observable, of, Subject, takeUntil, type Subscriber } from 'rxjs';
import {
  isLockStoreError,
  isLockTimeoutError,
  LockConfigError,
  LockStoreError,
  LockTimeoutError,
} from '../errors/index.js';
import type { LockServiceDefaults } from '../service/lock-service.options.js';
import type { LockService } from '../service/lock.service.js';
import type { CallContext } from '../options/resolve-acquire-options.js';
import type { LockedCall } from '../keys/index.js';
import type { LockDeclaration } from './lock-declaration.js';
import { namesOfKeys } from '../common/describe.js';
import { isThenable } from '../common/settle.js';

/** Finds the service of a call. Throws if there is none: the method never runs unlocked instead. */
export type ServiceOf = (self: unknown, declaration: LockDeclaration) => LockService;

/** Calls a method that returns a promise, while holding its lock. */
export async function lockPromise(
  declaration: LockDeclaration,
  call: LockedCall,
  serviceOf: ServiceOf,
  method: () => unknown,
): Promise<unknown> {
  const service = serviceOf(call.self, declaration);
  const defaults: Defaults = service.defaults ?? NO_DEFAULTS;
  const body = (): PromiseLike<unknown> => promised(declaration, method());
  if (declaration.applies?.(call) === false) return body();

  const key = keysOf(declaration, call, defaults);
  let entered = false;
  const enter = (): PromiseLike<unknown> => {
    entered = true;
    return body();
  };
  try {
    return await service.run(key, enter, declaration.options, contextOf(declaration, defaults));
  } catch (thrown) {
    // An error from within the method belongs to another lock, and is an error of the method like any other.
    if (entered) throw thrown;
    const reaction = reactionTo(thrown, declaration, defaults);
    if (reaction === 'skip') return undefined;
    const error = withSite(thrown, declaration, key);
    if (reaction === 'throw') throw error;
    return reaction.call(call.self, error, ...call.args);
  }
}

export interface LockObservableOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Emitted if the call is skipped; default: nothing. */
  readonly skipped?: Observable<unknown>;
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
  { signal, skipped = EMPTY }: LockObservableOptions = {},
): Observable<unknown> {
  const source = defer(() => observable(declaration, open()));
  return defer(() => {
    const service = serviceOf(call.self, declaration);
    const defaults: Defaults = service.defaults ?? NO_DEFAULTS;
    if (declaration.applies?.(call) === false) return source;
    return new Observable((subscriber) => {
      const gone = new AbortController();
      const stop = new Subject<void>();
      subscriber.add(() => {
        gone.abort();
        stop.next();
      });

      const key = keysOf(declaration, call, defaults);
      let entered = false;
      const enter = (): Promise<void> => {
        entered = true;
        return drain(source, subscriber, stop);
      };
      const ended = signal === undefined ? gone.signal : AbortSignal.any([gone.signal, signal]);
      const context = { ...contextOf(declaration, defaults), signal: ended };
      const failed = (thrown: unknown): void => {
        if (entered) return subscriber.error(thrown);
        const reaction = reactionTo(thrown, declaration, defaults);
        const error = withSite(thrown, declaration, key);
        if (reaction === 'throw') return subscriber.error(error);
        const instead =
          reaction === 'skip' ? skipped : defer(() => emitted(reaction.call(call.self, error, ...call.args)));
        instead.subscribe(subscriber);
      };
      service.run(key, enter, declaration.options, context).then(() => subscriber.complete(), failed);
    });
  });
}

/** The keys of a call, as the `keyBuilder` of the module makes them. */
function keysOf(
  { keyOf, builtKeys }: LockDeclaration,
  call: LockedCall,
  { keyBuilder }: Defaults,
): string | readonly string[] {
  const keys = keyOf(call);
  return keyBuilder === undefined ? keys : builtKeys(call, keys, keyBuilder);
}

/** Forwards the values of the source; resolves when it completes or is stopped, and rejects with its error. */
function drain(source: Observable<unknown>, subscriber: Subscriber<unknown>, stop: Observable<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    // Unsubscribed at the moment of the grant: there is no subscriber left.
    if (subscriber.closed) return resolve();
    source.pipe(takeUntil(stop)).subscribe({
      next: (value) => subscriber.next(value),
      error: reject,
      complete: resolve,
    });
  });
}

/** An error of the lock does not name the caller, so the error of a method names the method and its key. */
function withSite(error: unknown, { site, method }: LockDeclaration, keys: string | readonly string[]): unknown {
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
type Defaults = Partial<LockServiceDefaults>;

/** Those of a stand-in for the service in a test. */
const NO_DEFAULTS: Defaults = {};

/** What the caller of a method that did not run gets. */
function reactionTo(error: unknown, { onContended, onUnavailable }: LockDeclaration, defaults: Defaults): Reaction {
  if (isLockTimeoutError(error)) return onContended ?? defaults.onContended ?? 'throw';
  if (!isLockStoreError(error)) return 'throw';
  return onUnavailable ?? defaults.onUnavailable ?? 'throw';
}

/** A method that does not throw on contention does not wait either, unless `waitTimeout` is written beside `onContended`. */
function contextOf({ context, onContended }: LockDeclaration, defaults: Defaults): CallContext {
  if ((onContended ?? defaults.onContended ?? 'throw') === 'throw') return context;
  const waitTimeout = onContended === undefined ? defaults.methodWaitTimeout : 0;
  return { ...context, optional: true, waitTimeout };
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

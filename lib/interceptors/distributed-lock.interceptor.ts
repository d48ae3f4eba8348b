import { types } from 'node:util';
import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { defer, finalize, of, tap, type Observable } from 'rxjs';
import type { LockedCall } from '../keys/index.js';
import type { LockDeclaration } from '../decorators/lock-declaration.js';
import { lockObservable, type LockObservableOptions, type ServiceOf } from '../decorators/locked-call.js';
import { LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import type { LockServices } from '../service/lock.service.js';
import { clientDisconnect, endResponseOf } from './client-disconnect.js';
import { requestParts } from './request-parts.js';
import { declaredLocks } from './request-handler.js';

/** Marks a request whose locks are already being acquired; a symbol by description, for two copies of this package. */
const ENTERED = Symbol.for('nestjs-redis-locks:entered');

/**
 * Acquires the locks that `@UseLock` declares, for HTTP, microservices, WebSockets and GraphQL; other handlers run unchanged.
 * `@UseLock` binds it. Bind it globally as well if it must run before other interceptors:
 * `{ provide: APP_INTERCEPTOR, useClass: DistributedLockInterceptor }`. It still acquires each lock once.
 */
@Injectable()
export class DistributedLockInterceptor implements NestInterceptor {
  /** @hidden Nest calls it. */
  constructor(@Inject(LOCK_REGISTRY) private readonly services: LockServices) {}

  intercept(context: ExecutionContext & { [ENTERED]?: boolean }, next: CallHandler): Observable<unknown> {
    const locks = declaredLocks(context.getHandler());
    if (locks.length === 0 || context[ENTERED]) return next.handle();

    // An interceptor around this one may run the handler again, for example after an error. Each run takes the locks.
    return defer(() => {
      context[ENTERED] = true;
      const gone = new AbortController();
      const leave = (): void => {
        context[ENTERED] = false;
        gone.abort();
      };
      return this.locked(locks, context, next, gone.signal).pipe(
        tap({ error: leave, complete: leave }),
        finalize(leave),
      );
    });
  }

  /** @param gone aborts when there is no subscriber any more */
  private locked(
    locks: readonly LockDeclaration[],
    context: ExecutionContext,
    next: CallHandler,
    gone: AbortSignal,
  ): Observable<unknown> {
    const request = requestParts(context);
    const call: LockedCall = { args: [request, context], request, type: context.getClass() };
    const disconnect = clientDisconnect(context);
    const options: LockObservableOptions = {
      signal: disconnect === undefined ? gone : AbortSignal.any([disconnect, gone]),
      // Nest needs a value to answer with, so a skipped handler emits `undefined`.
      skipped: defer(() => of(endResponseOf(context))),
      runsOn: isAsync(context),
    };
    const serviceOf: ServiceOf = (_self, { instance }) => this.services.service(instance);
    // Nest binds the handler to the async context in which `handle()` is called, so the call must be inside the locks' scopes.
    return locks.reduceRight<() => Observable<unknown>>(
      (inner, lock) => () => lockObservable(lock, call, serviceOf, inner, options),
      () => next.handle(),
    )();
  }
}

/**
 * Whether the work of the handler is that of a promise: by itself, or by the type that the compiler has kept. Server-sent
 * events are an Observable, also in a promise.
 */
function isAsync(context: ExecutionContext): boolean {
  const [type, handler] = [context.getClass(), context.getHandler()];
  if (Reflect.hasMetadata('__sse__', handler)) return false;
  return (
    types.isAsyncFunction(handler) ||
    Reflect.getMetadata('design:returntype', type.prototype as object, handler.name) === Promise
  );
}

import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { defer, of, type Observable } from 'rxjs';
import type { LockedCall } from '../keys/index.js';
import { lockObservable, type LockObservableOptions, type ServiceOf } from '../decorators/locked-call.js';
import { LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import type { LockServices } from '../service/lock.service.js';
import { clientDisconnect, endResponseOf } from './client-disconnect.js';
import { lockRequest } from './lock-request.js';
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
    context[ENTERED] = true;

    const request = lockRequest(context);
    const call: LockedCall = { args: [request, context], request, type: context.getClass() };
    // Nest needs a value to answer with, so a skipped handler emits `undefined`.
    const skipped = defer(() => of(endResponseOf(context)));
    const options: LockObservableOptions = { signal: clientDisconnect(context), skipped };
    const serviceOf: ServiceOf = (_self, { instance }) => this.services.service(instance);
    // Nest binds the handler to the async context in which `handle()` is called, so the call must be inside the locks' scopes.
    return locks.reduceRight<() => Observable<unknown>>(
      (inner, lock) => () => lockObservable(lock, call, serviceOf, inner, options),
      () => next.handle(),
    )();
  }
}

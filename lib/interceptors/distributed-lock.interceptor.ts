import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { of, type Observable } from 'rxjs';
import type { LockServices } from '../decorators/injected-service.js';
import type { LockedCall } from '../decorators/lock-declaration.js';
import { lockObservable, type LockObservableOptions } from '../decorators/locked-call.js';
import { LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import { clientDisconnect } from './client-disconnect.js';
import { declaredLocks } from './handler-lock-metadata.js';
import { lockRequest } from './lock-request.js';

/** Marks a request whose locks are being seen to; a symbol by description, for two copies of this package. */
const ENTERED = Symbol.for('nestjs-redis-locks:entered');

/**
 * Acquires what `@UseLock` declares, for HTTP, microservices, WebSockets and GraphQL; lets all other handlers pass.
 * `@UseLock` brings it along. Bind it globally as well to have it run before other interceptors:
 * `{ provide: APP_INTERCEPTOR, useClass: DistributedLockInterceptor }`. Nothing is locked twice for that.
 */
@Injectable()
export class DistributedLockInterceptor implements NestInterceptor {
  constructor(@Inject(LOCK_REGISTRY) private readonly services: LockServices) {}

  intercept(context: ExecutionContext & { [ENTERED]?: boolean }, next: CallHandler): Observable<unknown> {
    const locks = declaredLocks(context.getHandler());
    if (locks.length === 0 || context[ENTERED]) return next.handle();
    context[ENTERED] = true;

    const request = lockRequest(context);
    const call: LockedCall = { args: [request, context], request };
    // Nest cannot answer with nothing at all, so what is skipped answers `undefined`.
    const options: LockObservableOptions = { signal: clientDisconnect(context), skipped: of(undefined) };
    // Nest binds the handler to the async context in which `handle()` is called: that has to be the inside of the locks.
    return locks.reduceRight<() => Observable<unknown>>(
      (inner, lock) => () => lockObservable(lock, call, () => this.services.service(lock.connection), inner, options),
      () => next.handle(),
    )();
  }
}

import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { isWithinRequest, LockScope } from '../service/lock-scope.js';
import { responseOf } from './client-disconnect.js';

/**
 * Opens a separate context around the handler of each request and message, so that a lock object in the field of a provider
 * tells requests apart: no request unlocks what another one locked. The module binds it globally. Guards and middleware run
 * before interceptors, and so outside of this context.
 */
@Injectable()
export class RequestContextInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    // Each instance of the module binds this interceptor.
    if (isWithinRequest(context)) return next.handle();
    return new Observable((subscriber) => {
      const scope = LockScope.ofRequest(context);
      subscriber.add(() => endAfterResponse(scope, context));
      subscriber.add(scope.run(() => next.handle().subscribe(subscriber)));
    });
  }
}

/** A handler that streams its response still works on it after the handler itself has ended. */
function endAfterResponse(scope: LockScope, context: ExecutionContext): void {
  const response = responseOf(context);
  if (response === undefined || response.closed || response.destroyed) scope.end();
  else response.once('close', () => scope.end());
}

import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { isWithinRequest, LockScope } from '../service/lock-scope.js';
import { responseOf } from './http-response.js';

/**
 * Opens a context of its own around the handler of each request and message, so that a `Lock` object in the field of a
 * provider tells them apart: what one of them took, no other one unlocks. The module binds it globally. Guards and middleware
 * run outside of it, as they run before interceptors.
 */
@Injectable()
export class RequestContextInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    // Each instance of the module binds one.
    if (isWithinRequest(context)) return next.handle();
    return new Observable((subscriber) => {
      const scope = LockScope.ofRequest(context);
      subscriber.add(() => endAfterResponse(scope, context));
      subscriber.add(scope.run(() => next.handle().subscribe(subscriber)));
    });
  }
}

/** What streams its answer still works on it when its handler has ended. */
function endAfterResponse(scope: LockScope, context: ExecutionContext): void {
  if (!scope.hasTaken) return;
  const response = responseOf(context);
  if (response === undefined || response.closed || response.destroyed) scope.end();
  else response.once('close', () => scope.end());
}

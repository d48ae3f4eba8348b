import { Catch, HttpStatus, Inject, Optional, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { throwError } from 'rxjs';
import { isLockStoreError, isLockTimeoutError, type LockStoreError, type LockTimeoutError } from '../errors/index.js';

export interface LockExceptionFilterOptions {
  /** The status when others held the lock for the whole wait. Default 423 (Locked). */
  timeoutStatus?: 423 | 409;
  /** After how many seconds the client is told to try again. Default 1. */
  retryAfter?: number;
}

/** Provides the options when Nest makes the filter. */
const FILTER_OPTIONS = Symbol.for('nestjs-redis-locks:exception-filter-options');

/** Nest asks `instanceof`, which fails for the errors of another copy of this package: so that asks for the code. */
abstract class Unavailable {
  static [Symbol.hasInstance](error: unknown): boolean {
    return isLockTimeoutError(error) || isLockStoreError(error);
  }
}

/**
 * Tells clients that a request could not have its lock, on each transport in its way and without a word about keys:
 *
 * - HTTP: 423 or 409 for `LOCK_TIMEOUT`, 503 for `LOCK_STORE`, both with `Retry-After`.
 * - Microservices: an error `{ status: 'error', code, message, retryAfter }`; WebSockets: the same as an `exception` message.
 * - GraphQL: an error with `code` and `retryAfter` among its `extensions`.
 *
 * All other errors go on, the remaining ones of this library too: what they tell (`LOCK_LOST`: the work may have been done
 * twice) is no invitation to try again, and ends as 500 in the log.
 *
 * ```ts
 * providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }]
 * app.useGlobalFilters(new LockExceptionFilter(app.get(HttpAdapterHost), { timeoutStatus: 409 }));
 * @UseFilters(LockExceptionFilter) // on gateways: Nest applies no global filters there
 * ```
 */
@Catch(Unavailable)
export class LockExceptionFilter implements ExceptionFilter<LockTimeoutError | LockStoreError> {
  private readonly timeoutStatus: number;
  private readonly retryAfter: number;

  constructor(
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
    @Optional() @Inject(FILTER_OPTIONS) { timeoutStatus = 423, retryAfter = 1 }: LockExceptionFilterOptions = {},
  ) {
    this.timeoutStatus = timeoutStatus;
    this.retryAfter = retryAfter;
  }

  catch(error: LockTimeoutError | LockStoreError, host: ArgumentsHost): unknown {
    const timeout = isLockTimeoutError(error);
    const message = timeout ? 'Somebody else is at it. Try again.' : 'Temporarily unavailable. Try again.';
    const answer: Answer = { code: error.code, message };
    const { retryAfter } = this;
    switch (host.getType<string>()) {
      case 'http':
        return this.respond(host, timeout ? this.timeoutStatus : HttpStatus.SERVICE_UNAVAILABLE, answer);
      case 'rpc':
        return throwError(() => ({ status: 'error', ...answer, retryAfter }));
      case 'ws':
        // Thrown errors get lost there: a filter has to send.
        return sendException(host.switchToWs().getClient(), { status: 'error', ...answer, retryAfter });
      case 'graphql':
        throw Object.assign(new Error(message, { cause: error }), { extensions: { code: error.code, retryAfter } });
      default:
        throw error;
    }
  }

  private respond(host: ArgumentsHost, statusCode: number, answer: Answer): void {
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) return void httpAdapter.end(response);

    httpAdapter.setHeader(response, 'Retry-After', String(this.retryAfter));
    httpAdapter.reply(response, { statusCode, ...answer }, statusCode);
  }
}

/** What clients are told. */
interface Answer {
  readonly code: string;
  readonly message: string;
}

/** A client of Socket.IO, or one of `ws`, whose `emit` goes no further than this process. */
interface WebSocketClient {
  readonly readyState?: unknown;
  emit?(event: string, payload: unknown): unknown;
  send?(message: string): unknown;
}

/** As Nest itself tells clients of exceptions. */
function sendException(client: WebSocketClient, payload: unknown): void {
  if (typeof client.readyState === 'number') client.send?.(JSON.stringify({ event: 'exception', data: payload }));
  else client.emit?.('exception', payload);
}

import { Catch, HttpStatus, Inject, Optional, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { throwError } from 'rxjs';
import {
  isLockKeyError,
  isLockStoreError,
  isLockTimeoutError,
  type LockKeyError,
  type LockStoreError,
  type LockTimeoutError,
} from '../errors/index.js';
import { fault, Options, or, read } from '../options/option-readers.js';
import { isObject } from '../common/type-guards.js';

/** The options of `LockExceptionFilter`. */
export interface LockExceptionFilterOptions {
  /**
   * The HTTP status if others held the lock for the whole wait, such as 423 (Locked) or 409: a whole number from 400 to 599.
   * @defaultValue 423
   */
  timeoutStatus?: number | undefined;
  /**
   * After how many seconds the client should try again: a whole number, sent as `Retry-After`.
   * @defaultValue 1
   */
  retryAfter?: number | undefined;
}

const OPTIONS = new Options({
  timeoutStatus: or(
    read.checked<number>(
      (status) => Number.isInteger(status) && status >= 400 && status <= 599,
      'the status of an HTTP error, such as 423 or 409',
    ),
    HttpStatus.LOCKED,
  ),
  retryAfter: or(read.count(0), 1),
});

/** Provides the options when Nest makes the filter. */
const FILTER_OPTIONS = Symbol.for('nestjs-redis-locks:exception-filter-options');

/** Nest uses `instanceof`, which fails for the errors of another copy of this package; here it checks the code instead. */
abstract class Answered {
  static [Symbol.hasInstance](error: unknown): boolean {
    return isLockTimeoutError(error) || isLockStoreError(error) || (isLockKeyError(error) && error.fromRequest);
  }
}

type AnsweredError = LockTimeoutError | LockStoreError | LockKeyError;

/** The message for a failure of Redis that lasts: Redis refused the command, and another try changes nothing. */
const UNAVAILABLE = 'Locks are unavailable.';

const MESSAGES: Readonly<Record<AnsweredError['code'], string>> = {
  LOCK_TIMEOUT: 'Another request holds the lock. Try again.',
  LOCK_STORE: 'Temporarily unavailable. Try again.',
  LOCK_KEY: 'A value of the request that is needed for the lock is missing or cannot be used.',
};

/**
 * Tells clients that a request did not get its lock, on each transport and without the key:
 *
 * - HTTP: 423 or 409 for `LOCK_TIMEOUT`, 503 for `LOCK_STORE`; 400 for `LOCK_KEY`. A response has `Retry-After` if another try
 *   may succeed: after a timeout and a temporary failure of Redis, but not if Redis refuses locks (out of memory, a missing
 *   permission).
 * - Microservices: an error `{ status: 'error', code, message, retryAfter }`; WebSockets: the same as an `exception` message.
 * - GraphQL: an error with `code` and `retryAfter` among its `extensions`.
 *
 * `LOCK_KEY` is sent if the request has no usable value for the key of an `@UseLock` (`fromRequest`), without `retryAfter`.
 * The filter does not handle other errors, including the remaining ones of this library: after `LOCK_LOST`, for example, the
 * work may have been done twice, so the client gets a 500 and no `Retry-After`.
 *
 * ```ts
 * providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }]
 * app.useGlobalFilters(new LockExceptionFilter(app.get(HttpAdapterHost), { timeoutStatus: 409 }));
 * ```
 *
 * Nest applies no global filters to gateways: write `@UseFilters(LockExceptionFilter)` there.
 */
@Catch(Answered)
export class LockExceptionFilter implements ExceptionFilter<LockTimeoutError | LockStoreError | LockKeyError> {
  private readonly retryAfter: number;
  private readonly statuses: Readonly<Record<AnsweredError['code'], number>>;

  /** @throws LockConfigError for an option that cannot be used */
  constructor(
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
    @Optional() @Inject(FILTER_OPTIONS) options: LockExceptionFilterOptions = {},
  ) {
    const { timeoutStatus, retryAfter } = OPTIONS.read('LockExceptionFilter', options);
    if (!isObject(adapterHost) || !('httpAdapter' in adapterHost)) {
      throw fault(
        'the host of LockExceptionFilter',
        adapterHost,
        ': write new LockExceptionFilter(app.get(HttpAdapterHost))',
      );
    }
    this.retryAfter = retryAfter;
    const { SERVICE_UNAVAILABLE, BAD_REQUEST } = HttpStatus;
    this.statuses = { LOCK_TIMEOUT: timeoutStatus, LOCK_STORE: SERVICE_UNAVAILABLE, LOCK_KEY: BAD_REQUEST };
  }

  catch(error: LockTimeoutError | LockStoreError | LockKeyError, host: ArgumentsHost): unknown {
    const { code } = error;
    const isLasting = code === 'LOCK_STORE' && !error.transient;
    const message = isLasting ? UNAVAILABLE : MESSAGES[code];
    const again = isLasting || code === 'LOCK_KEY' ? {} : { retryAfter: this.retryAfter };
    switch (host.getType<string>()) {
      case 'http':
        return this.respond(host, code, message, again.retryAfter);
      case 'rpc':
        return throwError(() => ({ status: 'error', code, message, ...again }));
      case 'ws':
        // Nest ignores errors that a filter throws there: the filter has to send the message itself.
        return sendException(host.switchToWs().getClient(), { status: 'error', code, message, ...again });
      case 'graphql':
        throw Object.assign(new Error(message, { cause: error }), { extensions: { code, ...again } });
      default:
        throw error;
    }
  }

  private respond(host: ArgumentsHost, code: AnsweredError['code'], message: string, retryAfter?: number): void {
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) return void httpAdapter.end(response);

    const statusCode = this.statuses[code];
    if (retryAfter !== undefined) httpAdapter.setHeader(response, 'Retry-After', String(retryAfter));
    httpAdapter.reply(response, { statusCode, code, message }, statusCode);
  }
}

/** A client of Socket.IO, or one of `ws`, whose `emit` sends nothing to the other side. */
interface WebSocketClient {
  readonly readyState?: unknown;
  emit?(event: string, payload: unknown): unknown;
  send?(message: string): unknown;
}

/** Sends an exception in the format of Nest. */
function sendException(client: WebSocketClient, payload: unknown): void {
  if (typeof client.readyState === 'number') client.send?.(JSON.stringify({ event: 'exception', data: payload }));
  else client.emit?.('exception', payload);
}

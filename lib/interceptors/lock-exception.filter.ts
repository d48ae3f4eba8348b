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

export interface LockExceptionFilterOptions {
  /** The status when others held the lock for the whole wait. Default 423 (Locked). */
  timeoutStatus?: 423 | 409;
  /** After how many seconds the client is told to try again. Default 1. */
  retryAfter?: number;
}

/** Provides the options when Nest makes the filter. */
const FILTER_OPTIONS = Symbol.for('nestjs-redis-locks:exception-filter-options');

type AnsweredError = LockTimeoutError | LockStoreError | LockKeyError;

/** Nest asks `instanceof`, which fails for the errors of another copy of this package: so that asks for the code. */
abstract class Answered {
  static [Symbol.hasInstance](error: unknown): boolean {
    return isLockTimeoutError(error) || isLockStoreError(error) || (isLockKeyError(error) && error.fromRequest);
  }
}

interface Answer {
  readonly statusCode: number;
  readonly message: string;
}

const UNAVAILABLE: Answer = {
  statusCode: HttpStatus.SERVICE_UNAVAILABLE,
  message: 'Temporarily unavailable. Try again.',
};
const BAD_REQUEST: Answer = {
  statusCode: HttpStatus.BAD_REQUEST,
  message: 'A value is missing that names what is to be locked, or cannot be used.',
};

/**
 * Answers HTTP requests that could not have their lock, without a word about keys: 423 or 409 for `LOCK_TIMEOUT`, 503 for
 * `LOCK_STORE`, both with `Retry-After`; 400 for `LOCK_KEY` where the request has no value, or no usable one, for the key
 * of an `@UseLock` (`fromRequest`). All other errors go on, the remaining ones of this library too: what they tell
 * (`LOCK_LOST`: the work may have been done twice) is no invitation to try again, and ends as 500 in the log.
 *
 * ```ts
 * providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }]
 * app.useGlobalFilters(new LockExceptionFilter(app.get(HttpAdapterHost), { timeoutStatus: 409 }));
 * ```
 */
@Catch(Answered)
export class LockExceptionFilter implements ExceptionFilter<LockTimeoutError | LockStoreError | LockKeyError> {
  private readonly timeoutStatus: number;
  private readonly retryAfter: number;

  constructor(
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
    @Optional() @Inject(FILTER_OPTIONS) { timeoutStatus = 423, retryAfter = 1 }: LockExceptionFilterOptions = {},
  ) {
    this.timeoutStatus = timeoutStatus;
    this.retryAfter = retryAfter;
  }

  catch(error: LockTimeoutError | LockStoreError | LockKeyError, host: ArgumentsHost): unknown {
    switch (host.getType<string>()) {
      case 'http':
        return this.answer(error, host);
      case 'rpc':
        return throwError(() => error);
      default:
        throw error;
    }
  }

  private answer(error: AnsweredError, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) return void httpAdapter.end(response);

    const { statusCode, message } = this.answerTo(error);
    if (error.code !== 'LOCK_KEY') httpAdapter.setHeader(response, 'Retry-After', String(this.retryAfter));
    httpAdapter.reply(response, { statusCode, code: error.code, message }, statusCode);
  }

  private answerTo({ code }: AnsweredError): Answer {
    switch (code) {
      case 'LOCK_TIMEOUT':
        return { statusCode: this.timeoutStatus, message: 'Somebody else is at it. Try again.' };
      case 'LOCK_STORE':
        return UNAVAILABLE;
      case 'LOCK_KEY':
        return BAD_REQUEST;
    }
  }
}

import { HttpException, type ExecutionContext } from '@nestjs/common';
import { responseOf } from './http-response.js';

/** What nginx logs when a client went away before it was answered; there is no status of HTTP for it. */
const CLIENT_CLOSED_REQUEST = 499;

/**
 * Aborts when the client of an HTTP request goes away before it is answered. The reason is an `HttpException`, which
 * Nest does not log as a failure of the application. `undefined` where there is no response to look at.
 */
export function clientDisconnect(context: ExecutionContext): AbortSignal | undefined {
  const response = responseOf(context);
  if (response === undefined) return undefined;
  const gone = new AbortController();
  const abort = (): void => {
    gone.abort(new HttpException('The client closed the request while it waited for a lock.', CLIENT_CLOSED_REQUEST));
  };
  if (response.closed || response.destroyed) abort();
  else response.once('close', abort); // comes after every response, when it changes nothing any more
  return gone.signal;
}

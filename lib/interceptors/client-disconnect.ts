import type { ServerResponse } from 'node:http';
import { HttpException, type ExecutionContext } from '@nestjs/common';

/** The status that nginx logs if a client disconnects before the response; HTTP itself has none. */
const CLIENT_CLOSED_REQUEST = 499;

/**
 * A signal that aborts if the client of an HTTP request disconnects before the response. The reason is an `HttpException`,
 * which Nest does not log as a failure of the application. `undefined` if there is no HTTP response.
 */
export function clientDisconnect(context: ExecutionContext): AbortSignal | undefined {
  const response = responseOf(context);
  if (response === undefined) return undefined;
  const gone = new AbortController();
  const abort = (): void => {
    gone.abort(new HttpException('The client closed the request while it waited for a lock.', CLIENT_CLOSED_REQUEST));
  };
  if (response.closed || response.destroyed) abort();
  else response.once('close', abort); // also fires after every response, when it has no effect
  return gone.signal;
}

/** The response of Node: with Express the response itself, with Fastify its `raw`. */
export function responseOf(context: ExecutionContext): ServerResponse | undefined {
  if (context.getType<string>() !== 'http') return undefined;
  const response = context.switchToHttp().getResponse<Partial<ServerResponse> & { raw?: ServerResponse }>();
  const raw = response?.raw ?? response;
  return typeof raw?.once === 'function' ? (raw as ServerResponse) : undefined;
}

/**
 * Ends the response if Nest has left it to the handler, which did not run: a handler asks for it by `@Res()` or `@Next()`
 * without `passthrough`. Otherwise its client would wait without end.
 */
export function endResponseOf(context: ExecutionContext): void {
  const [type, name] = [context.getClass(), context.getHandler().name];
  const parameters = Object.keys((Reflect.getMetadata('__routeArguments__', type, name) as object | undefined) ?? {});
  if (!parameters.some((parameter) => /^[12]:/.test(parameter))) return;
  if (Reflect.getMetadata('__responsePassthrough__', type, name) !== true) responseOf(context)?.end();
}

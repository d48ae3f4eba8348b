import type { ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';

/** The response of Node: with Express the response itself, with Fastify its `raw`. */
export function responseOf(context: ExecutionContext): ServerResponse | undefined {
  if (context.getType<string>() !== 'http') return undefined;
  const response = context.switchToHttp().getResponse<Partial<ServerResponse> & { raw?: ServerResponse }>();
  const raw = response?.raw ?? response;
  return typeof raw?.once === 'function' ? (raw as ServerResponse) : undefined;
}

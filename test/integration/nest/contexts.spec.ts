import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { describe, expect, it } from '@jest/globals';
import { defer, firstValueFrom, of } from 'rxjs';
import { currentLock, DistributedLockInterceptor, UseLock } from 'nestjs-redis-locks';
import { NestBench } from './support.js';

const bench = new NestBench();

class Handlers {
  @UseLock('message:#{#data.id}')
  byData(): void {}

  @UseLock('user:#{#user.id}')
  byUser(): void {}

  @UseLock("tenant:#{#headers['x-tenant']}")
  byTenant(): void {}
}

/** A handler of some transport, as Nest calls its interceptors. */
function contextOf(type: string, handler: keyof Handlers, args: unknown[]): ExecutionContext {
  const context = new ExecutionContextHost(args, Handlers, Handlers.prototype[handler]);
  context.setType(type);
  return context;
}

const next: CallHandler = { handle: () => defer(() => of(currentLock()?.key)) };

async function lockedBy(context: ExecutionContext): Promise<unknown> {
  const app = await bench.boot({ providers: [DistributedLockInterceptor] });
  return firstValueFrom(app.get(DistributedLockInterceptor).intercept(context, next));
}

describe('handlers of other transports', () => {
  it.each([
    ['a microservice, by its payload', 'rpc', 'byData', [{ id: 1 }, {}], 'message:1'],
    ['a WebSocket, by its payload', 'ws', 'byData', [{}, { id: 2 }], 'message:2'],
    ['a WebSocket, by the user on the client', 'ws', 'byUser', [{ user: { id: 'ann' } }, {}], 'user:ann'],
    [
      'a WebSocket, by the user in the data of the client',
      'ws',
      'byUser',
      [{ data: { user: { id: 'bob' } } }, {}],
      'user:bob',
    ],
    ['GraphQL, by the arguments of the field', 'graphql', 'byData', [{}, { id: 3 }, {}, {}], 'message:3'],
    [
      'GraphQL, by the user on the request',
      'graphql',
      'byUser',
      [{}, {}, { req: { user: { id: 'cy' } } }, {}],
      'user:cy',
    ],
    ['GraphQL, by the user in the context', 'graphql', 'byUser', [{}, {}, { user: { id: 'di' } }, {}], 'user:di'],
    [
      'GraphQL, by a header',
      'graphql',
      'byTenant',
      [{}, {}, { req: { headers: { 'x-tenant': 'a' } } }, {}],
      'tenant:a',
    ],
    ['GraphQL without a context', 'graphql', 'byData', [{}, { id: 4 }], 'message:4'],
  ] as const)('%s', async (_name, type, handler, args, key) => {
    expect(await lockedBy(contextOf(type, handler, [...args]))).toBe(key);
  });

  it('a handler without @UseLock passes', async () => {
    const context = new ExecutionContextHost([], Handlers, () => undefined);
    expect(await lockedBy(context)).toBeUndefined();
  });
});

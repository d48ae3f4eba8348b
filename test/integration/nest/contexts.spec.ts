import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { describe, expect, it } from '@jest/globals';
import { HttpAdapterHost } from '@nestjs/core';
import { defer, firstValueFrom, of, type Observable } from 'rxjs';
import {
  findCurrentLock,
  DistributedLockInterceptor,
  LockExceptionFilter,
  LockStoreError,
  LockTimeoutError,
  UseLock,
} from 'nestjs-redis-locks';
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

const next: CallHandler = { handle: () => defer(() => of(findCurrentLock()?.key)) };

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

  it('do not lock a handler without @UseLock', async () => {
    const context = new ExecutionContextHost([], Handlers, () => undefined);
    expect(await lockedBy(context)).toBeUndefined();
  });
});

describe('LockExceptionFilter on other transports', () => {
  const filter = new LockExceptionFilter(new HttpAdapterHost(), { retryAfter: 3 });
  const timeout = new LockTimeoutError('others hold account:7', { key: 'account:7' });

  function caught(type: string, args: unknown[] = [], error: LockTimeoutError | LockStoreError = timeout): unknown {
    const host = new ExecutionContextHost(args);
    host.setType(type);
    return filter.catch(error, host);
  }

  const ANSWER = {
    status: 'error',
    code: 'LOCK_TIMEOUT',
    message: 'Another request holds the lock. Try again.',
    retryAfter: 3,
  };

  it('a microservice: an error with the code, as Nest makes them', async () => {
    await expect(firstValueFrom(caught('rpc') as Observable<unknown>)).rejects.toEqual(ANSWER);
  });

  it('a WebSocket of Socket.IO: an exception', () => {
    const sent: unknown[] = [];
    caught('ws', [{ emit: (...message: unknown[]) => sent.push(message) }, {}]);
    expect(sent).toEqual([['exception', ANSWER]]);
  });

  it('a WebSocket of ws: an exception, and no uncaught exception', () => {
    const sent: string[] = [];
    const client = {
      readyState: 1,
      send: (message: string) => sent.push(message),
      emit: () => {
        throw new Error('this stays within the process');
      },
    };
    caught('ws', [client, {}]);
    expect(sent.map((message) => JSON.parse(message) as unknown)).toEqual([{ event: 'exception', data: ANSWER }]);
  });

  it('GraphQL: an error with the code among its extensions, and the cause for the log', () => {
    expect(() => caught('graphql')).toThrow(
      expect.objectContaining({
        message: ANSWER.message,
        extensions: { code: 'LOCK_TIMEOUT', retryAfter: 3 },
        cause: timeout,
      }),
    );
  });

  it('reports a failure of Redis', async () => {
    const error = new LockStoreError('no answer for account:7', { transient: true });
    await expect(firstValueFrom(caught('rpc', [], error) as Observable<unknown>)).rejects.toEqual({
      ...ANSWER,
      code: 'LOCK_STORE',
      message: 'Temporarily unavailable. Try again.',
    });
  });

  it('offers no further try if Redis refuses locks', async () => {
    const error = new LockStoreError('Redis is out of memory');
    await expect(firstValueFrom(caught('rpc', [], error) as Observable<unknown>)).rejects.toEqual({
      ...{ status: 'error', code: 'LOCK_STORE', message: 'Locks are unavailable.' },
    });
  });

  it('anything else: the error as it is', () => {
    expect(() => caught('telegram')).toThrow(timeout);
  });
});

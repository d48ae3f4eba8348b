import {
  Controller,
  Get,
  Injectable,
  Scope,
  SetMetadata,
  UseGuards,
  type ModuleMetadata,
  type CallHandler,
  type ExecutionContext,
} from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import { Cron } from '@nestjs/schedule';
import { DistributedLock, UseLock, findCurrentLock, DistributedLockInterceptor } from 'nestjs-redis-locks';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { defer, firstValueFrom, of } from 'rxjs';
import { NestBench } from './support.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

const bench = new NestBench();

const NO_HANDLER = {
  code: 'LOCK_CONFIG',
  message: expect.stringMatching(/^@UseLock on Jobs\.work: this method is no request handler.*write @DistributedLock/),
};

/** A class with one method, below what others put on it. */
function jobs(...decorators: MethodDecorator[]): new () => { work(): unknown } {
  @Injectable()
  class Jobs {
    @UseLock('job')
    async work(): Promise<void> {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Jobs.prototype, 'work') as PropertyDescriptor;
  for (const decorate of decorators) decorate(Jobs.prototype, 'work', descriptor);
  Object.defineProperty(Jobs.prototype, 'work', descriptor);
  return Jobs;
}

const mark = (key: unknown, value = 'of another package') => SetMetadata(key as string, value);

/** A GraphQL resolver of a type, with one method. */
function resolverOf(type: string, ...decorators: MethodDecorator[]): new () => { work(): unknown } {
  class Resolver extends jobs(...decorators) {}
  Reflect.defineMetadata('graphql:resolver_type', type, Resolver);
  return Resolver;
}

describe('@UseLock without an interceptor stops the application at boot', () => {
  const Plain = jobs();
  @Injectable({ scope: Scope.REQUEST })
  class Scoped extends Plain {}
  class Inherited extends Plain {}

  it.each<[string, ModuleMetadata]>([
    ['a method of a provider', { providers: [Plain] }],
    ['one of a request-scoped provider', { providers: [Scoped] }],
    ['an inherited one', { providers: [Inherited] }],
    ['one of an instance from useFactory', { providers: [{ provide: 'jobs', useFactory: () => new Plain() }] }],
    ['one of a controller, without a route', { controllers: [Plain] }],
    ['a @Cron job', { providers: [jobs(Cron('0 0 1 1 *'))] }],
    ['an event listener', { providers: [jobs(OnEvent('event'))] }],
    ['a listener of BullMQ', { providers: [jobs(SetMetadata('bullmq:worker_events_metadata', {}))] }],
    ['a method with guards, which do not run either', { providers: [jobs(UseGuards())] }],
    ['one with both locks', { providers: [jobs(DistributedLock('job') as MethodDecorator)] }],
    ['a helper in a GraphQL resolver', { providers: [resolverOf('Job')] }],
  ])('%s', async (_what, metadata) => {
    await expect(bench.boot(metadata)).rejects.toMatchObject(NO_HANDLER);
  });
});

describe('@UseLock on a possible handler', () => {
  class Overridden extends jobs() {
    override work(): void {}
  }

  it.each<[string, ModuleMetadata]>([
    ['a route', { controllers: [jobs(Get('job'))] }],
    ['a route below @DistributedLock', { controllers: [jobs(Get('job'), DistributedLock('job') as MethodDecorator)] }],
    ['a route above @DistributedLock', { controllers: [jobs(DistributedLock('job') as MethodDecorator, Get('job'))] }],
    ['a message of a microservice', { controllers: [jobs(mark('microservices:pattern'))] }],
    ['a message of a WebSocket', { providers: [jobs(mark('websockets:message_mapping'))] }],
    ['a query of GraphQL', { providers: [resolverOf('Job', mark('graphql:resolver_type', 'Query'))] }],
    ['a mutation of GraphQL, by its class', { providers: [resolverOf('Mutation')] }],
    ['a message of another transport', { providers: [jobs(mark(Symbol('RABBIT_HANDLER')))] }],
    ['a method that was overridden without a lock', { providers: [Overridden] }],
  ])('%s starts', async (_what, metadata) => {
    await expect(bench.boot(metadata)).resolves.toBeDefined();
  });

  it('is accepted on a base class whose controllers declare the route', async () => {
    @Controller()
    class Routes extends jobs() {
      @Get('job')
      override work(): unknown {
        return undefined;
      }
    }
    await expect(bench.boot({ controllers: [Routes] })).resolves.toBeDefined();
  });
});

describe('@UseLock on a field of GraphQL', () => {
  const Fields = resolverOf('Job', mark('graphql:resolve_property'));
  const graphql = (options: object) => ({ provide: 'GqlModuleOptions', useValue: options });

  it.each([[[]], [[graphql({})]], [[graphql({ fieldResolverEnhancers: ['guards'] })]]])(
    'stops the application, since no interceptor runs around it: %j',
    async (others) => {
      await expect(bench.boot({ providers: [Fields, ...others] })).rejects.toEqual(
        lockError(
          'LOCK_CONFIG',
          /^@UseLock on Jobs\.work: GraphQL runs no interceptor.*write @DistributedLock.*fieldResolverEnhancers/,
        ),
      );
    },
  );

  it('is accepted if the module of GraphQL has interceptors run around fields', async () => {
    const options = graphql({ fieldResolverEnhancers: ['interceptors'] });
    await expect(bench.boot({ providers: [Fields, options] })).resolves.toBeDefined();
  });
});

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

import { Controller, Get, Injectable, Scope, SetMetadata, UseGuards, type ModuleMetadata } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import { Cron } from '@nestjs/schedule';
import { describe, expect, it } from '@jest/globals';
import { DistributedLock, UseLock } from 'nestjs-redis-locks';
import { NestBench } from './support.js';

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
  ])('%s', async (_what, metadata) => {
    await expect(bench.boot(metadata)).rejects.toMatchObject(NO_HANDLER);
  });
});

describe('@UseLock on a possible handler', () => {
  const mark = (key: unknown) => SetMetadata(key as string, 'of another package');
  class Resolver extends jobs() {}
  Reflect.defineMetadata('graphql:resolver_type', 'Job', Resolver);
  class Overridden extends jobs() {
    override work(): void {}
  }

  it.each<[string, ModuleMetadata]>([
    ['a route', { controllers: [jobs(Get('job'))] }],
    ['a route below @DistributedLock', { controllers: [jobs(Get('job'), DistributedLock('job') as MethodDecorator)] }],
    ['a route above @DistributedLock', { controllers: [jobs(DistributedLock('job') as MethodDecorator, Get('job'))] }],
    ['a message of a microservice', { controllers: [jobs(mark('microservices:pattern'))] }],
    ['a message of a WebSocket', { providers: [jobs(mark('websockets:message_mapping'))] }],
    ['a field of GraphQL', { providers: [jobs(mark('graphql:resolver_type'))] }],
    ['a field of a GraphQL resolver, by its class', { providers: [Resolver] }],
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

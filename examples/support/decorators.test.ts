import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OnWorkerEvent } from '@nestjs/bullmq';
import { Get, Header, HttpCode, Post, SetMetadata, UseGuards, UseInterceptors } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import { Int, Mutation, Query, ResolveField } from '@nestjs/graphql';
import { EventPattern, MessagePattern } from '@nestjs/microservices';
import { Cron, Interval, Timeout } from '@nestjs/schedule';
import { SubscribeMessage } from '@nestjs/websockets';
import { DistributedLock, UseLock } from 'nestjs-redis-locks';

const OTHERS: Record<string, MethodDecorator> = {
  '@Get': Get('path'),
  '@Post': Post(':id'),
  '@HttpCode': HttpCode(204),
  '@Header': Header('x-a', 'b'),
  '@UseGuards': UseGuards({ canActivate: () => true }),
  '@SetMetadata': SetMetadata('roles', ['admin']),
  '@MessagePattern': MessagePattern('message'),
  '@EventPattern': EventPattern('event') as MethodDecorator,
  '@SubscribeMessage': SubscribeMessage('message'),
  '@Query': Query(() => Int),
  '@Mutation': Mutation(() => Int),
  '@ResolveField': ResolveField(() => Int),
  '@Cron': Cron('0 0 1 * *', { name: 'job' }),
  '@Interval': Interval('often', 1000),
  '@Timeout': Timeout('once', 1000),
  '@OnEvent': OnEvent('event', { async: true }),
  '@OnWorkerEvent': OnWorkerEvent('completed'),
};
const LOCKS: Record<string, MethodDecorator> = {
  '@DistributedLock': DistributedLock('key:#id') as MethodDecorator,
  '@UseLock': UseLock('key:#{#data.id}'),
};

/**
 * The properties of a method that is decorated from the top down: its metadata, its name and how many arguments it
 * takes.
 */
function decorated(...decorators: MethodDecorator[]) {
  class Handlers {
    async handle(id: string): Promise<string> {
      return id;
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle')!;
  for (const decorate of decorators.reverse()) decorate(Handlers.prototype, 'handle', descriptor);
  const method = descriptor.value as (id: string) => Promise<string>;
  const metadata = Object.fromEntries(
    Reflect.getOwnMetadataKeys(method).map((key: string) => [key, Reflect.getOwnMetadata(key, method) as unknown]),
  );
  return { name: method.name, length: method.length, metadata };
}

/** Without the metadata that locks note down themselves. */
function besidesOurs({ metadata, ...rest }: ReturnType<typeof decorated>, ours: readonly string[]) {
  const theirs = Object.entries(metadata).filter(([key]) => !ours.includes(key));
  return { ...rest, metadata: Object.fromEntries(theirs) };
}

for (const [lockName, lock] of Object.entries(LOCKS)) {
  const ours = Object.keys(decorated(lock).metadata);

  describe(`${lockName} leaves on a method what others have put there`, () => {
    for (const [name, other] of Object.entries(OTHERS)) {
      it(`${name}, above and below`, () => {
        const alone = decorated(other);
        assert.ok(Object.keys(alone.metadata).length > 0);
        assert.deepEqual(besidesOurs(decorated(other, lock), ours), alone);
        assert.deepEqual(besidesOurs(decorated(lock, other), ours), alone);
      });
    }
  });
}

it('interceptors of others stay beside that of @UseLock, in the order in which they are written', () => {
  class Mine {}
  const { metadata } = decorated(LOCKS['@UseLock']!, UseInterceptors(Mine as never));
  const interceptors = metadata['__interceptors__'] as Array<{ name: string }>;
  assert.deepEqual(interceptors.map(({ name }) => name).sort(), ['DistributedLockInterceptor', 'Mine']);
});

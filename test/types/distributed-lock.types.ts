/*
 * The code that the compiler accepts: checked by tsc with everything else, and never run. test/wrong-usages has the code that
 * it refuses.
 */
import { applyDecorators, SetMetadata, type NestInterceptor, type Type } from '@nestjs/common';
import type { Observable } from 'rxjs';
import {
  DistributedLock,
  DistributedLockInterceptor,
  LockService,
  RedisLockModule,
  UseLock,
  type DistributedLockOptions,
  type LockTimeoutError,
} from 'nestjs-redis-locks';

interface Order {
  sku: string;
  amount: number;
}
declare const stream: Observable<number>;
declare const anyOptions: DistributedLockOptions;

/** The client of another copy of ioredis: a class with a private member is a type of its own. */
declare class OtherRedis {
  private readonly connector: object;
  readonly options: object;
  readonly stream: object;
  duplicate(override?: object): OtherRedis;
  sendCommand(command: object, stream?: object): unknown;
}
declare class OtherCluster {
  private readonly startupNodes: object[];
  readonly options: object;
  readonly slots: string[][];
  duplicate(nodes?: object[], options?: object): OtherCluster;
  nodes(role?: 'all' | 'master' | 'slave'): OtherRedis[];
}

const Audited = (): MethodDecorator => applyDecorators(SetMetadata('audited', true), DistributedLock('audit'));

export class Accepted {
  @DistributedLock('a')
  async asynchronous(order: Order): Promise<number> {
    return order.amount;
  }

  @DistributedLock('a')
  inferred(order: Order) {
    return Promise.resolve(order);
  }

  @DistributedLock('a')
  observable(): Observable<number> {
    return stream;
  }

  @DistributedLock('a')
  either(): Promise<number> | Observable<number> {
    return stream;
  }

  @DistributedLock('a')
  async generic<T>(value: T): Promise<T> {
    return value;
  }

  @DistributedLock('a')
  anything(): any {
    return 1;
  }

  @DistributedLock({ key: (order: Order) => order.sku, condition: (order: Order) => order.amount > 1 })
  async byFunction(order: Order, amount: number): Promise<number> {
    return order.amount + amount;
  }

  @DistributedLock({ key: (order: { sku: string }) => order.sku })
  async byWiderFunction(order: Order): Promise<Order> {
    return order;
  }

  @DistributedLock({ key: (order) => order.sku })
  async byUntypedFunction(order: Order): Promise<Order> {
    return order;
  }

  @DistributedLock((sku: string, ...more: number[]) => `${sku}${more.length}`, '30s', 3)
  async withRest(sku: string, ...more: number[]): Promise<string> {
    return `${sku}${more.length}`;
  }

  @Audited()
  async composed(): Promise<void> {}

  @DistributedLock({ key: 'a', onContended: 'skip' })
  async skippedVoid(): Promise<void> {}

  @DistributedLock({ key: 'a', onContended: 'skip' })
  async skippedMaybe(): Promise<number | undefined> {
    return 1;
  }

  @DistributedLock({ key: 'a', onContended: 'skip' })
  skippedObservable(): Observable<number> {
    return stream;
  }

  @DistributedLock({ key: 'a', onContended: () => 'yesterday', onUnavailable: async () => 'tomorrow' })
  async replaced(): Promise<string> {
    return 'today';
  }

  @DistributedLock({ key: 'a', onContended: (error, order: Order) => `${error.code} ${order.sku}` })
  async replacedByArguments(order: Order): Promise<string> {
    return order.sku;
  }

  @DistributedLock({
    key: (order: Order) => order.sku,
    onContended: (error: LockTimeoutError, order: Order, amount: number) =>
      error.message.length + order.amount + amount,
  })
  async replacedWithKeyFunction(order: Order, amount: number): Promise<number> {
    return order.amount + amount;
  }

  @DistributedLock({
    key: 'a',
    onUnavailable: () => {
      throw new Error('not today');
    },
  })
  async replacedByError(): Promise<number> {
    return 1;
  }

  @DistributedLock({ key: 'a', onContended: () => stream, onUnavailable: () => 2 })
  replacedObservable(): Observable<number> {
    return stream;
  }

  @DistributedLock({ key: 'a', onContended: () => undefined, onUnavailable: 'skip' })
  async replacedByNothing(): Promise<number | undefined> {
    return 1;
  }

  @DistributedLock(anyOptions)
  async byVariable(): Promise<number> {
    return 1;
  }

  @UseLock({ key: ({ params, user }, context) => `${params.id}:${user.id}:${context.getClass().name}` })
  handler(): string {
    return 'handlers may be synchronous';
  }

  @DistributedLock('a')
  protected async hidden(): Promise<void> {
    await this.secret();
  }

  @DistributedLock('a')
  private async secret(): Promise<void> {}
}

/** The compiler does not know the types of a generic class when it checks the decorators. */
export abstract class Generic<T, Bounded extends Order> {
  @DistributedLock('a')
  async plain(value: T): Promise<T> {
    return value;
  }

  @DistributedLock({ key: (value: Bounded) => value.sku })
  async byFunction(value: Bounded): Promise<Bounded['sku']> {
    return value.sku;
  }

  @DistributedLock({ key: 'a', onContended: 'skip', onUnavailable: () => undefined })
  async optional(value: T): Promise<T | undefined> {
    return value;
  }

  @DistributedLock('a')
  streamed(_value: T): Observable<T> {
    throw new Error();
  }
}

/** The same in a function with a type parameter, where functions among the options may return it. */
export function cacheOf<T>(empty: T) {
  class Cache {
    @DistributedLock({ key: 'a', onContended: () => empty, onUnavailable: async () => empty })
    async load(): Promise<T> {
      return empty;
    }

    @DistributedLock({ key: 'a', onUnavailable: (_error: unknown, value: T) => [value] })
    async list(value: T): Promise<T[]> {
      return [value];
    }

    @DistributedLock({ key: 'a', onContended: () => empty })
    streamed(): Observable<T> {
      throw new Error();
    }
  }
  return new Cache();
}

/** Functions of Nest and of libraries of mocks take classes. */
export const types: [Type<LockService>, Type<NestInterceptor>] = [LockService, DistributedLockInterceptor];

export const connected = [
  new OtherRedis(),
  new OtherCluster(),
  [new OtherRedis(), new OtherRedis(), new OtherRedis()],
].map((connection) => RedisLockModule.forRoot({ connection }));

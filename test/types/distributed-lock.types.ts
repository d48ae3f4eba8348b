/* The code that the compiler accepts and refuses: checked by tsc with everything else, and never run. */
import { applyDecorators, SetMetadata } from '@nestjs/common';
import type { Observable } from 'rxjs';
import {
  DistributedLock,
  UseLock,
  type DistributedLockOptions,
  type LockMethodDecorator,
  type LockTimeoutError,
} from 'nestjs-redis-locks';

interface Order {
  sku: string;
  amount: number;
}
declare const stream: Observable<number>;
declare const anyOptions: DistributedLockOptions;

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

export class Refused {
  // @ts-expect-error a synchronous method would end before its lock
  @DistributedLock('a')
  synchronous(): number {
    return 1;
  }

  // @ts-expect-error so would a function that returns nothing
  @DistributedLock({ key: 'a' })
  nothing(): void {}

  // @ts-expect-error the key function takes something else than the method
  @DistributedLock({ key: (order: Order) => order.sku })
  async otherArguments(sku: string): Promise<string> {
    return sku;
  }

  // @ts-expect-error the method may be called without what the key function takes
  @DistributedLock({ key: (sku: string) => sku })
  async optionalArgument(sku?: string): Promise<string> {
    return String(sku);
  }

  // @ts-expect-error the condition takes more than the method
  @DistributedLock({ key: 'a', condition: (sku: string, amount: number) => amount > sku.length })
  async fewerArguments(sku: string): Promise<string> {
    return sku;
  }

  // @ts-expect-error what is skipped returns undefined
  @DistributedLock({ key: 'a', onContended: 'skip' })
  async skippedNumber(): Promise<number> {
    return 1;
  }

  // @ts-expect-error so does a method that is skipped while Redis is down
  @DistributedLock({ key: 'a', onUnavailable: 'skip' })
  async unavailableNumber(): Promise<number> {
    return 1;
  }

  // @ts-expect-error the function returns a text, the method a number
  @DistributedLock({ key: 'a', onContended: () => 'yesterday' })
  async replacedByText(): Promise<number> {
    return 1;
  }

  // @ts-expect-error a promise of a text is no better
  @DistributedLock({ key: 'a', onUnavailable: async () => 'tomorrow' })
  async replacedByPromise(): Promise<number> {
    return 1;
  }

  // @ts-expect-error nor are values of another type in an Observable
  @DistributedLock({ key: 'a', onContended: () => stream })
  replacedByStream(): Observable<string> {
    return null as never;
  }

  // @ts-expect-error the function takes other arguments than the method
  @DistributedLock({ key: 'a', onContended: (_error: LockTimeoutError, order: Order) => order.sku })
  async replacedByOthers(sku: string): Promise<string> {
    return sku;
  }

  // @ts-expect-error a misspelt word
  @DistributedLock({ key: 'a', onUnavailable: 'ignore' })
  async misspeltWord(): Promise<void> {}

  // @ts-expect-error the error of onContended is that of a timeout
  @DistributedLock({ key: 'a', onContended: (error) => error.transient })
  async wrongError(): Promise<boolean> {
    return true;
  }

  // @ts-expect-error no such option
  @DistributedLock({ key: 'a', ttl: 5 })
  async misspelt(): Promise<void> {}

  // @ts-expect-error there has to be a key
  @DistributedLock({ expire: 0 })
  async keyless(): Promise<void> {}

  // @ts-expect-error a key function returns a string
  @DistributedLock({ key: () => 5 })
  async numeric(): Promise<void> {}

  // @ts-expect-error `returns` is for methods
  @UseLock({ key: 'a', returns: 'promise' })
  handler(): void {}
}

/** The compiler's text for a method with that result. */
declare const _decorate: LockMethodDecorator<any[]>;
declare const _decorateSkipped: LockMethodDecorator<any[], 'skip'>;
declare const _decorateUnavailable: LockMethodDecorator<any[], 'throw', 'skip'>;
declare const _decorateReplaced: LockMethodDecorator<any[], () => string>;
declare const _decorateWithArguments: LockMethodDecorator<any[], 'throw', (error: unknown, sku: string) => any>;
type ValueOf<Descriptor> = Descriptor extends { value?: infer Value } ? Extract<Value, string> : never;
type Said<Result> = ValueOf<Parameters<typeof _decorate<[], Result>>[2]>;
type SaidOfSkipped<Result> = ValueOf<Parameters<typeof _decorateSkipped<[], Result>>[2]>;
type SaidOfUnavailable<Result> = ValueOf<Parameters<typeof _decorateUnavailable<[], Result>>[2]>;
type SaidOfReplaced<Result> = ValueOf<Parameters<typeof _decorateReplaced<[], Result>>[2]>;
type SaidOfArguments<Params extends any[]> = ValueOf<
  Parameters<typeof _decorateWithArguments<Params, Promise<string>>>[2]
>;

type MakeItAsync = 'a locked method must return a promise or an Observable: make it async';
type AddUndefined = "onContended: 'skip' lets the method return undefined: add it to the return type";
type AddUndefinedToo = "onUnavailable: 'skip' lets the method return undefined: add it to the return type";
type OtherType = 'the function of onContended returns another type than the method';
type OtherArguments = 'the function of onUnavailable takes other arguments than the method';
type Is<Text, Expected> = [Text] extends [never] ? false : Text extends Expected ? true : false;

export const said: [
  Is<Said<number>, MakeItAsync>,
  Is<Said<void>, MakeItAsync>,
  Is<Said<number | Promise<number>>, MakeItAsync>,
  Is<SaidOfSkipped<number>, MakeItAsync>,
  Is<SaidOfSkipped<Promise<number>>, AddUndefined>,
  Is<SaidOfUnavailable<Promise<number>>, AddUndefinedToo>,
  Is<SaidOfReplaced<Promise<number>>, OtherType>,
  Is<SaidOfReplaced<Observable<number>>, OtherType>,
  Is<SaidOfArguments<[amount: number]>, OtherArguments>,
] = [true, true, true, true, true, true, true, true, true];

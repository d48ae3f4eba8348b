/** What a locked method returns: the lock lasts until a promise settles, or as long as an Observable is subscribed to. */
export type Lockable = PromiseLike<any> | Subscribable;

/** An Observable, of whichever copy of RxJS. */
export interface Subscribable {
  subscribe(...args: any[]): unknown;
  pipe(...args: any[]): unknown;
}

/**
 * Goes on methods that return a promise or an Observable, and that can be called with nothing but what the functions
 * among the options take. The descriptor is optional so that it also goes into `applyDecorators`.
 */
export type LockMethodDecorator<Args extends readonly any[]> = <Params extends any[], Result>(
  target: object,
  name: string | symbol,
  descriptor?: DescriptorOf<Params, Result> & IsLockable<Result> & SuitsFunctions<Args, Params>,
) => void;

/** The same for a method that may be skipped: its promise must be able to bring `undefined`. */
export type SkippingLockMethodDecorator<Args extends readonly any[]> = <Params extends any[], Result>(
  target: object,
  name: string | symbol,
  descriptor?: DescriptorOf<Params, Result> & IsLockable<Result> & SuitsFunctions<Args, Params> & AdmitsSkip<Result>,
) => void;

interface DescriptorOf<Params extends any[], Result> extends PropertyDescriptor {
  value?: (...args: Params) => Result;
}

// What is written as the type of `value` below is what the compiler prints.

type IsLockable<Result> = [Result] extends [Lockable]
  ? unknown
  : { value: 'a locked method must return a promise or an Observable: make it async' };

type SuitsFunctions<Args extends readonly any[], Params extends any[]> = ((...args: Args) => unknown) extends (
  ...args: Params
) => unknown
  ? unknown
  : { value: 'the functions among the options take other arguments than the method' };

type AdmitsSkip<Result> = Result extends Subscribable
  ? unknown
  : Result extends PromiseLike<infer Value>
    ? undefined extends Value
      ? unknown
      : { value: "onContended: 'skip' lets the method return undefined: add it to the return type" }
    : unknown;

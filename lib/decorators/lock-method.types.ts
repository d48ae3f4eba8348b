/** The result of a locked method: the lock is held until the promise settles, or while the Observable is subscribed to. */
export type Lockable = PromiseLike<any> | Subscribable;

/** An Observable of any copy of RxJS. */
export interface Subscribable {
  subscribe(...args: any[]): unknown;
  pipe(...args: any[]): unknown;
}

/**
 * A decorator for methods that return a promise or an Observable, and whose parameters fit the functions among the options.
 * The descriptor is optional, so that `applyDecorators` takes it, too.
 */
export type LockMethodDecorator<Args extends readonly any[]> = <Params extends any[], Result>(
  target: object,
  name: string | symbol,
  descriptor?: DescriptorOf<Params, Result> & IsLockable<Result> & SuitsFunctions<Args, Params>,
) => void;

/** The same for a method that may be skipped: its promise must admit `undefined`. */
export type SkippingLockMethodDecorator<Args extends readonly any[]> = <Params extends any[], Result>(
  target: object,
  name: string | symbol,
  descriptor?: DescriptorOf<Params, Result> & IsLockable<Result> & SuitsFunctions<Args, Params> & AdmitsSkip<Result>,
) => void;

interface DescriptorOf<Params extends any[], Result> extends PropertyDescriptor {
  value?: (...args: Params) => Result;
}

// The compiler prints the type of `value` below as its error message.

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

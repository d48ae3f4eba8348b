import type { Observable } from 'rxjs';
import type { OnContended, OnUnavailable } from '../options/acquire-options.js';

/** The result of a locked method: the lock is held until the promise settles, or while the Observable is subscribed to. */
export type Lockable = PromiseLike<any> | Subscribable;

/** An Observable of any copy of RxJS. */
export interface Subscribable {
  subscribe(...args: any[]): unknown;
  pipe(...args: any[]): unknown;
}

/**
 * A decorator for methods that return a promise or an Observable, whose parameters fit the functions among the options, and
 * whose result admits what the caller gets instead (`onContended`, `onUnavailable`). The descriptor is optional, so that
 * `applyDecorators` takes it, too.
 */
export type LockMethodDecorator<
  Args extends readonly any[],
  Contended extends OnContended = OnContended,
  Unavailable extends OnUnavailable = OnUnavailable,
> = <Params extends any[], Result>(
  target: object,
  name: string | symbol,
  descriptor?: DescriptorOf<Params, Result> &
    IsLockable<Result> &
    SuitsFunctions<Args, Params> &
    Admits<'onContended', Known<Contended, OnContended>, Params, Result> &
    Admits<'onUnavailable', Known<Unavailable, OnUnavailable>, Params, Result>,
) => void;

interface DescriptorOf<Params extends any[], Result> extends PropertyDescriptor {
  value?: (...args: Params) => Result;
}

// The compiler prints the type of `value` below as its error message.

// A promise of an Observable is refused when it is called: the compiler cannot decide that in a generic class.
type IsLockable<Result> = [Result] extends [Lockable]
  ? unknown
  : { value: 'a locked method must return a promise or an Observable: make it async' };

type SuitsFunctions<Args extends readonly any[], Params extends any[]> = ((...args: Args) => unknown) extends (
  ...args: Params
) => unknown
  ? unknown
  : { value: 'the functions among the options take other arguments than the method' };

/** An option in a variable of the wide type may be anything, so nothing is known of it. */
type Known<Option, Wide> = [Wide] extends [Option] ? 'throw' : Option;

type Admits<Name extends string, Option, Params extends any[], Result> = ('skip' extends Option
  ? AdmitsSkip<Name, Result>
  : unknown) &
  ([Extract<Option, Fallback>] extends [never]
    ? unknown
    : AdmitsFallback<Name, Extract<Option, Fallback>, Params, Result>);

type Fallback = (this: any, ...args: any[]) => any;

type AdmitsSkip<Name extends string, Result> = Result extends Subscribable
  ? unknown
  : Result extends PromiseLike<infer Value>
    ? undefined extends Value
      ? unknown
      : { value: `${Name}: 'skip' lets the method return undefined: add it to the return type` }
    : unknown;

// Functions are compared, and not what they return: the compiler cannot decide that for a type parameter.
type AdmitsFallback<Name extends string, Option extends Fallback, Params extends any[], Result> = [Option] extends [
  (...args: any[]) => InPlaceOf<Result>,
]
  ? Option extends (this: any, error: any, ...args: Params) => unknown
    ? unknown
    : { value: `the function of ${Name} takes other arguments than the method` }
  : { value: `the function of ${Name} returns another type than the method` };

/** What may be returned in place of a promise or an Observable: its value, or a promise or an Observable of that. */
type InPlaceOf<Result> =
  Result extends Observable<infer Value>
    ? Value | PromiseLike<Value> | Observable<Value>
    : Result extends Subscribable
      ? any
      : Result extends PromiseLike<infer Value>
        ? Value | PromiseLike<Value>
        : never;

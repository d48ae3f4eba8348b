import { Observable, Subscriber, type Observer, type OperatorFunction, type Subscription } from 'rxjs';

/**
 * An observable whose subscribers may throw. RxJS turns such an error into an uncaught exception, which ends the process and
 * every lock in it; this class passes the error to `report` instead, also behind operators (`events.pipe(…)`).
 */
export class ObservedEvents<T> extends Observable<T> {
  constructor(
    origin: Observable<T>,
    private readonly report: (error: unknown) => void,
  ) {
    super((subscriber) => origin.subscribe(subscriber));
  }

  override pipe(...operators: ReadonlyArray<OperatorFunction<any, any>>): Observable<any> {
    const piped = operators.reduce<Observable<unknown>>((piped, operator) => operator(piped), this);
    return operators.length === 0 ? this : new ObservedEvents(piped, this.report);
  }

  override subscribe(
    observer?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // Operators subscribe with a Subscriber of their own, which passes errors on.
    if (observer instanceof Subscriber) return super.subscribe(observer);
    const { report } = this;
    const told = typeof observer === 'function' ? { next: observer, error, complete } : observer;
    const attempt = (call: () => void): void => {
      try {
        call();
      } catch (failure) {
        report(failure);
      }
    };
    return super.subscribe({
      next: (value) => attempt(() => told?.next?.(value)),
      error: (failure: unknown) => attempt(() => (told?.error ? told.error(failure) : report(failure))),
      complete: () => attempt(() => told?.complete?.()),
    });
  }
}

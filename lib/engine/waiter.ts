import { listenToAbort } from '../common/abort.js';
import type { Appointment } from '../common/agenda.js';
import type { Clock } from '../common/clock.js';
import type { Linked } from '../common/linked-list.js';
import type { Hold, HoldTerms } from './hold.js';

/** What an acquisition may be given beside the terms of its hold. */
export interface WaitTerms {
  /** ms; 0: one try; `Infinity`: for ever. */
  readonly waitTimeout: number;
  readonly signal: AbortSignal | undefined;
}

/** One caller who waits for a hold. */
export class Waiter implements Linked<Waiter> {
  readonly promise: Promise<Hold>;
  deadline: Appointment | undefined;
  /** Where it waits, between whom. */
  list: object | undefined;
  before: Waiter | undefined;
  behind: Waiter | undefined;
  private resolve!: (hold: Hold) => void;
  private reject!: (reason: unknown) => void;
  private stopListening: (() => void) | undefined;
  private sleep: (() => void) | undefined;

  constructor(
    readonly terms: HoldTerms,
    readonly since: number,
    /** ms; 0: one try. */
    readonly waitTimeout: number,
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Has `onAbort` called when the caller's signal aborts. */
  listenTo(signal: AbortSignal, onAbort: () => void): void {
    this.stopListening = listenToAbort(signal, onAbort);
  }

  /** Keeps the process alive until it is served or refused: nothing else may, where no connection does. */
  stayAwake(clock: Clock): void {
    this.sleep ??= clock.stayAwake();
  }

  served(hold: Hold): void {
    this.settled();
    this.resolve(hold);
  }

  refused(reason: unknown): void {
    this.settled();
    this.reject(reason);
  }

  private settled(): void {
    this.stopListening?.();
    this.sleep?.();
  }
}

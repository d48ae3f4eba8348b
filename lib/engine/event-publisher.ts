import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { outside } from '../common/outside.js';
import type { Hold, HoldTerms } from './hold.js';
import type { LockEvent } from './lock-event.js';
import type { Waiter } from './waiter.js';

/** Where events go. */
export interface EventSink {
  readonly observed: boolean;
  next(event: LockEvent): void;
}

/** Tells observers what happens to locks; nothing is built for an event that nobody observes. */
export class EventPublisher {
  /** Acquisitions that were told to be contended. */
  private readonly contending = new WeakSet<HoldTerms>();

  constructor(
    private readonly sink: EventSink,
    private readonly clock: Clock,
    private readonly logger: LockLogger,
  ) {}

  contended({ terms }: Waiter): void {
    this.tell(() => {
      this.contending.add(terms);
      return { type: 'contended', ...wishOf(terms) };
    });
  }

  timeout({ terms, since }: Waiter): void {
    this.tell(() => ({ type: 'timeout', ...wishOf(terms), waited: this.clock.now() - since }));
  }

  acquired(hold: Hold, since: number): void {
    this.tell(() => {
      const contended = this.contending.has(hold.terms);
      return { type: 'acquired', ...factsOf(hold), waited: hold.acquiredAt - since, contended };
    });
  }

  renewed(hold: Hold): void {
    this.tell(() => ({ type: 'renewed', ...factsOf(hold), renewals: hold.renewals }));
  }

  released(hold: Hold): void {
    this.tell(() => ({ type: 'released', ...factsOf(hold), held: this.clock.now() - hold.acquiredAt }));
  }

  unreleased(hold: Hold, reason: string): void {
    this.tell(() => ({ type: 'unreleased', ...factsOf(hold), held: this.clock.now() - hold.acquiredAt, reason }));
  }

  lost(hold: Hold, reason: string): void {
    this.tell(() => ({ type: 'lost', ...factsOf(hold), held: this.clock.now() - hold.acquiredAt, reason }));
  }

  /** An observer that throws does not disturb the engine. */
  private tell(event: () => LockEvent): void {
    if (!this.sink.observed) return;
    try {
      outside(() => this.sink.next(event()));
    } catch (error) {
      this.logger.error(`an observer of locks has thrown: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** While it is waited for, only an owner that the caller named is known. */
const wishOf = ({ key, owner, mode, pattern }: HoldTerms) => ({ key, owner, lockType: mode.kind, pattern });
const factsOf = ({ owner, token, terms }: Hold) => ({ ...wishOf(terms), owner, fencingToken: token });

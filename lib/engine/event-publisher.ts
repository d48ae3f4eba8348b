import { messageOf } from '../common/describe.js';
import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { outside } from '../common/outside.js';
import type { HoldTerms } from './hold-terms.js';
import type { LockEvent } from './lock-event.js';

/** Where events go. */
export interface EventSink {
  readonly observed: boolean;
  next(event: LockEvent): void;
}

/** What an event tells about a caller that waits. */
export interface PublishedRequest {
  readonly terms: HoldTerms;
  readonly since: number;
}

/** What an event tells about a hold. */
export interface PublishedHold {
  readonly terms: HoldTerms;
  readonly owner: string;
  readonly token: number;
  readonly acquiredAt: number;
  readonly renewals: number;
}

/** Publishes what happens to locks. Without observers it builds no event. */
export class EventPublisher {
  /** Acquisitions for which a `contended` event was published. */
  private readonly contending = new WeakSet<HoldTerms>();

  constructor(
    private readonly sink: EventSink,
    private readonly clock: Clock,
    private readonly logger: LockLogger,
  ) {}

  contended({ terms }: PublishedRequest): void {
    this.publish(() => {
      this.contending.add(terms);
      return { type: 'contended', ...requestFields(terms) };
    });
  }

  /** A wait was in vain. A caller that does without the lock gets no error, so this is no timeout. */
  timeout({ terms, since }: PublishedRequest): void {
    this.publish(() => {
      const type = terms.optional ? 'skipped' : 'timeout';
      return { type, ...requestFields(terms), waited: this.clock.now() - since };
    });
  }

  acquired(hold: PublishedHold, since: number): void {
    this.publish(() => {
      const contended = this.contending.has(hold.terms);
      return { type: 'acquired', ...holdFields(hold), waited: hold.acquiredAt - since, contended };
    });
  }

  renewed(hold: PublishedHold): void {
    this.publish(() => ({ type: 'renewed', ...holdFields(hold), renewals: hold.renewals }));
  }

  released(hold: PublishedHold): void {
    this.publish(() => ({ type: 'released', ...holdFields(hold), held: this.clock.now() - hold.acquiredAt }));
  }

  unreleased(hold: PublishedHold, reason: string): void {
    this.publish(() => ({ type: 'unreleased', ...holdFields(hold), held: this.clock.now() - hold.acquiredAt, reason }));
  }

  lost(hold: PublishedHold, reason: string): void {
    this.publish(() => ({ type: 'lost', ...holdFields(hold), held: this.clock.now() - hold.acquiredAt, reason }));
  }

  /** An observer that throws does not disturb the engine. */
  private publish(event: () => LockEvent): void {
    if (!this.sink.observed) return;
    try {
      outside(() => this.sink.next(event()));
    } catch (error) {
      this.logger.error(`an observer of locks has thrown: ${messageOf(error)}`);
    }
  }
}

/** While a caller waits, the owner is known only if the caller named one. */
const requestFields = ({ key, owner, mode, pattern }: HoldTerms) => ({ key, owner, lockType: mode.kind, pattern });
const holdFields = ({ owner, token, terms }: PublishedHold) => ({
  ...requestFields(terms),
  owner,
  fencingToken: token,
});

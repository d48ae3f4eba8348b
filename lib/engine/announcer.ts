import type { Clock } from '../common/clock.js';
import { outside } from '../common/outside.js';
import type { Hold } from './hold.js';
import type { LockEvent } from './lock-event.js';
import type { Waiter } from './waiter.js';

/** Where events go. */
export interface EventSink {
  readonly observed: boolean;
  next(event: LockEvent): void;
}

/** Tells observers what happens to locks; nothing is built for an event that nobody observes. */
export class Announcer {
  constructor(
    private readonly sink: EventSink,
    private readonly clock: Clock,
  ) {}

  contended({ terms: { key, owner } }: Waiter): void {
    this.tell(() => ({ type: 'contended', key, owner }));
  }

  timeout({ terms: { key, owner }, since }: Waiter): void {
    this.tell(() => ({ type: 'timeout', key, owner, waited: this.clock.now() - since }));
  }

  acquired(hold: Hold, since: number): void {
    this.tell(() => ({ type: 'acquired', ...factsOf(hold), waited: hold.acquiredAt - since }));
  }

  renewed(hold: Hold): void {
    this.tell(() => ({ type: 'renewed', ...factsOf(hold), renewals: hold.renewals }));
  }

  released(hold: Hold): void {
    this.tell(() => ({ type: 'released', ...factsOf(hold), held: this.clock.now() - hold.acquiredAt }));
  }

  lost(hold: Hold, reason: string): void {
    this.tell(() => ({ type: 'lost', ...factsOf(hold), held: this.clock.now() - hold.acquiredAt, reason }));
  }

  /** An observer that throws does not disturb the engine: rxjs reports it on its own. */
  private tell(event: () => LockEvent): void {
    if (this.sink.observed) outside(() => this.sink.next(event()));
  }
}

const factsOf = ({ key, owner, token }: Hold) => ({ key, owner, fencingToken: token });

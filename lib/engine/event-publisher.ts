import { messageOf } from '../common/describe.js';
import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { outside } from '../common/async-context.js';
import type { LockLostError } from '../errors/index.js';
import type { ClientNames } from './client-names.js';
import type { KeyTerms } from './hold-terms.js';
import type { LockEvent } from './lock-event.js';

/** Where events go. */
export interface EventSink {
  readonly observed: boolean;
  next(event: LockEvent): void;
}

/** What an event tells about a caller that waits. */
export interface PublishedRequest extends KeyTerms {
  readonly since: number;
}

/** What an event tells about a hold. */
export interface PublishedHold extends KeyTerms {
  readonly id: string;
  readonly token: number;
  readonly acquiredAt: number;
  readonly renewals: number;
}

/** Publishes what happens to locks. Without observers it builds no event. */
export class EventPublisher {
  constructor(
    private readonly sink: EventSink,
    private readonly clock: Clock,
    private readonly logger: LockLogger,
    private readonly label: string,
    /** The labels of holders, as far as they are known. */
    private readonly names: Pick<ClientNames, 'labelOf' | 'learn'>,
  ) {}

  /** `holders`: the ids of the acquisitions that hold the key, as far as the client knows. */
  contended(request: PublishedRequest, holders: readonly string[] = []): void {
    if (!this.sink.observed) return;
    // For the events that follow. Each client is asked for once.
    outside(() => void this.names.learn(holders));
    const holder = this.holder(holders);
    this.publish({ type: 'contended', ...this.requestFields(request), holder, holderId: holders[0] });
  }

  /** A wait ended without the lock. A caller that does without the lock gets no error, so this is no timeout. */
  timeout(request: PublishedRequest, holders: readonly string[] = []): void {
    if (!this.sink.observed) return;
    const type = request.terms.optional ? 'skipped' : 'timeout';
    const waited = this.clock.now() - request.since;
    const holder = this.holder(holders);
    this.publish({ type, ...this.requestFields(request), holder, holderId: holders[0], waited });
  }

  /** `contended`: whether other holders kept it from the key; `previous`: the ids of their acquisitions. */
  acquired(hold: PublishedHold, since: number, contended: boolean, previous: readonly string[] = []): void {
    if (!this.sink.observed) return;
    const previousHolder = contended ? this.holder(previous) : undefined;
    const waited = hold.acquiredAt - since;
    this.publish({ type: 'acquired', ...this.holdFields(hold), waited, contended, previousHolder });
  }

  renewed(hold: PublishedHold, late: number): void {
    if (!this.sink.observed) return;
    this.publish({ type: 'renewed', ...this.holdFields(hold), renewals: hold.renewals, late });
  }

  released(hold: PublishedHold): void {
    if (this.sink.observed) this.publish({ type: 'released', ...this.endFields(hold) });
  }

  unreleased(hold: PublishedHold, reason: string): void {
    if (this.sink.observed) this.publish({ type: 'unreleased', ...this.endFields(hold), reason });
  }

  lost(hold: PublishedHold, { message: reason, lossReason, forcedBy }: LockLostError, nextHolder?: string): void {
    if (!this.sink.observed) return;
    this.publish({ type: 'lost', ...this.endFields(hold), reason, lossReason: lossReason!, forcedBy, nextHolder });
  }

  /** An observer that throws does not disturb the engine. */
  private publish(event: LockEvent): void {
    try {
      outside(() => this.sink.next(event));
    } catch (error) {
      this.logger.error(`an observer of locks has thrown: ${messageOf(error)}`);
    }
  }

  /** The label of the first holder, or the id of its client. */
  private holder([first]: readonly string[]): string | undefined {
    return first === undefined ? undefined : this.names.labelOf(first);
  }

  /** While a caller waits, the owner is known only if the caller named one. */
  private requestFields({ key, terms: { owner, mode, pattern, method } }: KeyTerms) {
    return { key, owner, kind: mode.kind, pattern, method, label: this.label };
  }

  /** Holds that share one in the store have the same token and the same owner there. Their ids differ. */
  private holdFields(hold: PublishedHold) {
    const { id, token, terms } = hold;
    return { ...this.requestFields(hold), owner: terms.owner ?? id, fencingToken: token };
  }

  private endFields(hold: PublishedHold) {
    return { ...this.holdFields(hold), held: this.clock.now() - hold.acquiredAt };
  }
}

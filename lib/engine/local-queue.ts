import { LockStoreError, type LockError } from '../errors/index.js';
import type { TicketTerms } from './acquire-request.js';
import type { Announcer } from './announcer.js';
import type { Grant, Hold } from './hold.js';
import { Ticket, type TicketEnvironment, type TicketHolder } from './ticket.js';
import { validUntil } from './validity.js';
import type { Waiter } from './waiter.js';

/** What a local queue needs from its surroundings. */
export interface LocalQueueEnvironment extends TicketEnvironment {
  readonly announcer: Announcer;
  /** Makes the hold of a grant and watches over it. */
  hold(queue: LocalQueue, waiter: Waiter, grant: Grant): Hold;
  /** Somebody has to wait, or (with `waitTimeout: 0`) cannot. */
  contended(queue: LocalQueue, waiter: Waiter): void;
  /** The waiter is not in the queue any more. */
  dismiss(waiter: Waiter, reason: unknown): void;
  /** There is nobody in the queue and nothing held through it. */
  emptied(queue: LocalQueue): void;
}

/**
 * The waiters of this client for one key, first come first served, behind one ticket in the store: however many wait
 * here, the store sees one. While one of them holds the key the others wait for it without a ticket; the release takes
 * the next one in the same step.
 */
export class LocalQueue implements TicketHolder {
  private readonly waiters = new Set<Waiter>();
  private ticket: Ticket | undefined;
  private holding: Hold | undefined;
  /** Who found nobody here, and may have the key at once; all others were told that they wait when they came. */
  private hopeful: Waiter | undefined;
  /** When the key was last known to be held by somebody. */
  private lastTaken = -Infinity;

  constructor(
    readonly key: string,
    private readonly environment: LocalQueueEnvironment,
    /** Whether those who come wait; `false`: one try. */
    readonly waits: boolean,
  ) {}

  /**
   * Why `waiter` cannot be told that others held the key. Without an answer to its ticket that is known all the same once
   * it has waited behind somebody: the question that goes along with a release is a new ticket's first one.
   */
  troubleOf({ since }: Waiter): LockStoreError | undefined {
    return this.lastTaken < since ? this.ticket?.trouble : this.ticket?.lastError;
  }

  join(waiter: Waiter): void {
    this.waiters.add(waiter);
    if (this.holding !== undefined) this.seenTaken();
    if (this.ticket === undefined && this.holding === undefined) {
      this.hopeful = waiter;
      this.openTicket()?.ask();
    } else {
      this.environment.contended(this, waiter);
    }
  }

  /** A waiter gives up; those behind it keep the place. */
  quit(waiter: Waiter): void {
    const wasFirst = this.first === waiter;
    if (!this.waiters.delete(waiter)) return;
    const { first } = this;
    if (first === undefined) this.closeTicket();
    else if (wasFirst) this.ticket?.inherit(this.termsOf(first));
  }

  /** Everybody who waits here is told `reason`. */
  dismissAll(reason: unknown): void {
    const waiters = [...this.waiters];
    this.waiters.clear();
    this.closeTicket();
    for (const waiter of waiters) this.environment.dismiss(waiter, reason);
  }

  /**
   * The hold is about to be released. Answers the ticket of the next waiter, for whom the release is to ask in the same
   * step, if somebody waits.
   */
  releasing(hold: Hold): Ticket | undefined {
    if (this.holding !== hold) return undefined;
    this.holding = undefined;
    return this.openTicket();
  }

  /** The hold has ended without a release. */
  lost(hold: Hold): void {
    this.releasing(hold)?.ask();
  }

  granted(_ticket: Ticket, grant: Grant): void {
    this.ticket = undefined;
    const { first } = this;
    const lease = Math.min(grant.lease, first?.terms.lease ?? 0);
    if (first === undefined || validUntil(grant.from, lease) <= this.environment.clock.now()) {
      // Nobody wants it any more, or the answer came so late that the lease may be over.
      this.environment.leave(this.key, grant.id, 0);
      if (this.waits) this.openTicket()?.ask();
      else this.dismissAll(this.tooLate(lease));
      return;
    }
    this.waiters.delete(first);
    const hold = this.environment.hold(this, first, grant);
    this.holding = hold;
    this.seenTaken();
    first.served(hold);
    // Only now: whoever hears of it finds everything in order.
    this.environment.announcer.acquired(hold, first.since);
  }

  contended(): void {
    this.seenTaken();
    if (!this.waits) this.ticket = undefined;
    const { hopeful } = this;
    this.hopeful = undefined;
    if (hopeful !== undefined && this.waiters.has(hopeful)) this.environment.contended(this, hopeful);
  }

  failed(_ticket: Ticket, error: LockError): void {
    this.ticket = undefined;
    this.dismissAll(error);
  }

  private get first(): Waiter | undefined {
    return this.waiters.values().next().value;
  }

  private seenTaken(): void {
    this.lastTaken = this.environment.clock.now();
  }

  private openTicket(): Ticket | undefined {
    const { first } = this;
    if (first === undefined) {
      this.closeTicket();
      return undefined;
    }
    this.ticket = new Ticket(this.environment, this.termsOf(first), this);
    return this.ticket;
  }

  private tooLate(lease: number): LockStoreError {
    const message = `Redis answered so late that the lease of '${this.key}' (${lease} ms) was over by then`;
    return new LockStoreError(message, { key: this.key, transient: true });
  }

  /** Nobody waits any more. */
  private closeTicket(): void {
    this.ticket?.leave();
    this.ticket = undefined;
    if (this.holding === undefined) this.environment.emptied(this);
  }

  private termsOf({ terms }: Waiter): TicketTerms {
    return { key: this.key, mode: terms.mode, owner: terms.owner, lease: terms.lease, waits: this.waits };
  }
}

import { READING_TIME } from '../common/timer-queue.js';
import { LinkedList } from '../common/linked-list.js';
import { inSlices } from '../common/slices.js';
import { LockStoreError, LockTimeoutError, type LockError } from '../errors/index.js';
import type { TicketTerms } from './acquire-request.js';
import { answeredTooLate } from './answered-too-late.js';
import type { Grant, Hold, HoldTerms } from './hold.js';
import type { HoldRegistry } from './hold-registry.js';
import type { PendingAcquisitions } from './pending-acquisitions.js';
import type { Releases } from './releases.js';
import { Ticket, type TicketListener, type TicketParts } from './ticket.js';
import type { UnitReleases } from './unit-releases.js';
import { validUntil } from './validity.js';
import type { Waiter } from './waiter.js';

/** What queues acquire with. */
export interface AcquireParts extends TicketParts {
  readonly releases: Releases;
  readonly units: UnitReleases;
  readonly holds: HoldRegistry<LocalQueue>;
  readonly pending: PendingAcquisitions<LocalQueue>;
}

/**
 * The waiters of this client behind one ticket, first come, first served. However many wait here, the store sees one
 * ticket. The subclasses say what a grant is for.
 */
export abstract class LocalQueue implements TicketListener {
  protected readonly waiters = new LinkedList<Waiter>();
  protected ticket: Ticket | undefined;
  /** Ids of the last holders that are known. For observers. */
  protected lastHolders: readonly string[] | undefined;
  /** When the key was last known to be held. */
  private lastHeld = -Infinity;
  /** The latest reply says that no client holds the key: requests of the same moment have split the masters. */
  private isSplit = false;
  private overdue: Waiter[] = [];

  constructor(
    readonly key: string,
    protected readonly parts: AcquireParts,
    /** Whether a request waits; otherwise it is one try. */
    protected readonly waits: boolean,
  ) {}

  /** How many callers wait for the key. One try does not. */
  get waiting(): number {
    return this.waits ? this.waiters.size : 0;
  }

  /** Adds a waiter, and ends its wait at its deadline or with its signal. */
  join(waiter: Waiter, signal: AbortSignal | undefined): void {
    this.waiters.append(waiter);
    if (signal !== undefined) {
      // A listener that was called since the call began may have aborted it.
      if (signal.aborted) return this.giveUp(waiter, signal.reason);
      waiter.listenTo(signal, () => this.giveUp(waiter, signal.reason));
    }
    // Before the timer is set: the store works meanwhile.
    this.joined(waiter);
    // One try has nothing to wait for but the answer.
    waiter.endBy(this.waits ? waiter.since + waiter.waitTimeout : waiter.answerBy, () => this.timedOut(waiter));
  }

  /** Removes all waiters. The caller rejects them. */
  removeAll(): Waiter[] {
    const waiters = this.waiters.takeAll();
    this.closeTicket();
    return waiters;
  }

  /** Whether a later request may join. */
  abstract accepts(terms: HoldTerms): boolean;

  /** Another client waits for the key, or it is released by force: the grant that stands serves no further waiter. */
  abstract endBatch(): void;

  /** Ends a hold and hands it to the next waiter, if that is possible; returns whether it did. */
  abstract handOff(hold: Hold): boolean;

  /** Whether a caller that comes now could get the lock under the same grant. */
  abstract mayBeTakenOver(hold: Hold): boolean;

  /** Ends a hold and hands it to a caller that does not wait in this queue, if that is possible. */
  abstract takeOver(hold: Hold, terms: HoldTerms): Hold | undefined;

  /** A hold goes to the store. Returns the ticket of the next waiter, which the release asks for in the same step. */
  abstract releasing(hold: Hold): Ticket | undefined;

  granted(grant: Grant): void {
    this.forgetTicket();
    const { context, releases } = this.parts;
    const { first } = this.waiters;
    const lease = Math.min(grant.lease, first?.terms.lease ?? 0);
    const now = context.clock.now();
    if (first === undefined || validUntil(grant.from, lease) <= now) {
      // No waiter is left, or the answer came so late that the lease may be over.
      releases.leave(this.key, grant.id, releases.tombstoneFor(grant.epoch));
      if (this.waits) this.openTicket()?.tryAcquireOrEnqueue();
      else this.failed(answeredTooLate(this.key, lease, true));
      return;
    }
    this.serveUnder(grant, first, now);
  }

  contended(isSplit = false): void {
    if (isSplit) this.endOverdue();
    else this.seenHeld();
    this.isSplit = isSplit;
    if (!this.waits) this.forgetTicket();
    this.refusedAtFirst();
  }

  failed(error: LockError): void {
    this.forgetTicket();
    // There may be very many.
    void inSlices(this.removeAll(), (waiter) => waiter.refused(error));
  }

  /** A waiter has joined: makes a request for it, or reports that it is contended. */
  protected abstract joined(waiter: Waiter): void;

  /** Serves the first waiter, and others if the grant is for several. */
  protected abstract serveUnder(grant: Grant, first: Waiter, now: number): void;

  /** The store has not granted the lock at once: reports the waiters that hoped for it as contended. */
  protected abstract refusedAtFirst(): void;

  /** What the ticket asks for if this waiter is the first. */
  protected abstract termsOf(waiter: Waiter): TicketTerms;

  /** Removes this queue from its table, if it has no further use. */
  protected abstract forget(): void;

  /** Another holder keeps a waiter from the key. */
  protected reportContended(waiter: Waiter): void {
    // Before observers are called: they may have the waiter served at once.
    if (this.waits) waiter.keepAlive();
    if (!waiter.isContended) {
      waiter.isContended = true;
      this.parts.context.events.contended(waiter, this.holders());
    }
    if (!this.waits) this.timedOut(waiter);
  }

  protected seenHeld(at = this.parts.context.clock.now()): void {
    this.lastHeld = at;
    this.isSplit = false;
    this.endOverdue();
  }

  /** Makes a request for the next waiter. */
  protected openTicket(): Ticket | undefined {
    this.forgetTicket();
    const { first } = this.waiters;
    if (first === undefined) {
      this.closeTicket();
      return undefined;
    }
    this.ticket = new Ticket(this.parts, this.termsOf(first), this);
    this.parts.pending.add(this.ticket, this.lineKey);
    return this.ticket;
  }

  protected forgetTicket(): void {
    this.lastHolders = this.holders();
    if (this.ticket !== undefined) this.parts.pending.remove(this.ticket, this.key);
    this.ticket = undefined;
  }

  /** No waiter is left. */
  protected closeTicket(): void {
    const { ticket } = this;
    this.forgetTicket();
    ticket?.leave();
    this.forget();
  }

  /** Ids of the holders that are known. */
  protected holders(): readonly string[] | undefined {
    return this.ticket?.holders ?? this.lastHolders;
  }

  /** The key, if this client may have several tickets for it, in a line. */
  protected get lineKey(): string | undefined {
    return undefined;
  }

  private timedOut(waiter: Waiter): void {
    // It was removed with very many others, and is rejected with the reason of that in its turn.
    if (!this.waiters.has(waiter)) return;
    const { clock, events } = this.parts.context;
    const isUnanswered = this.isUnanswered(waiter);
    if (isUnanswered && !waiter.overdue) {
      waiter.overdue = true;
      this.overdue.push(waiter);
      waiter.moveDeadline(Math.max(waiter.answerBy, clock.now() + READING_TIME));
      return;
    }
    const trouble = isUnanswered ? this.noAnswer(waiter) : this.ticket?.error;
    if (trouble === undefined) events.timeout(waiter, this.holders());
    this.giveUp(waiter, trouble ?? this.timeoutError(waiter));
  }

  /** A waiter ends without a hold. The waiters behind it keep the place. */
  private giveUp(waiter: Waiter, reason: unknown): void {
    const wasFirst = this.waiters.first === waiter;
    if (this.waiters.remove(waiter)) {
      const { first } = this.waiters;
      if (first === undefined) this.closeTicket();
      else if (wasFirst) this.ticket?.inherit(this.termsOf(first));
    }
    waiter.refused(reason);
  }

  /**
   * Whether the client does not know yet that the key was held while the waiter waited. A waiter that has waited behind a
   * holder of this client knows: the question of a new ticket goes along with the release.
   */
  private isUnanswered({ since }: Waiter): boolean {
    return this.lastHeld < since && this.ticket?.isUnanswered === true;
  }

  private endOverdue(): void {
    if (this.overdue.length === 0) return;
    const now = this.parts.context.clock.now();
    // Not here: their callers and observers may call anything, and this queue is in the middle of a change.
    for (const waiter of this.overdue.splice(0)) waiter.moveDeadline(now);
  }

  private timeoutError({ waitTimeout }: Waiter): LockTimeoutError {
    const { isSplit } = this;
    // A caller that waits for its own process would not find another one.
    const isLocal = this.holders()?.some((id) => this.parts.holds.has(id));
    return notGranted(this.key, { isSplit, isLocal, waitTimeout: this.waits ? waitTimeout : undefined });
  }

  private noAnswer({ since }: Waiter): LockStoreError {
    const { clock, store } = this.parts.context;
    const { key } = this;
    const waited = Math.round(clock.now() - since);
    const { outage: cause } = store;
    const message = cause?.message ?? `Redis has not answered for ${waited} ms whether '${key}' is free`;
    return new LockStoreError(message, { key, cause, transient: true });
  }
}

/** The error of a caller that gets no lock. `waitTimeout`: left out for one try. */
export function notGranted(
  key: string,
  {
    isSplit,
    isLocal,
    waitTimeout,
  }: { readonly isSplit?: boolean | undefined; readonly isLocal?: boolean; readonly waitTimeout?: number | undefined },
): LockTimeoutError {
  if (isSplit === true) {
    const within = waitTimeout === undefined ? '' : ` within its waitTimeout of ${Math.round(waitTimeout)} ms`;
    const message = `no request for '${key}' got a majority${within}: requests of the same moment have split the masters. Retry`;
    return new LockTimeoutError(message, { key });
  }
  const message =
    waitTimeout === undefined
      ? `'${key}' is held by another caller`
      : `'${key}' was held by other callers for the whole waitTimeout of ${Math.round(waitTimeout)} ms`;
  return new LockTimeoutError(isLocal === true ? `${message} (in this process)` : message, { key });
}

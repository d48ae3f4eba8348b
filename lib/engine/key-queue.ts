import { inSlices } from '../common/slices.js';
import { LinkedList } from '../common/linked-list.js';
import { outside } from '../common/async-context.js';
import { TransientMap } from '../common/transient.js';
import { LockStoreError, LockTimeoutError, type LockError } from '../errors/index.js';
import { UNCONTENDED_BATCH_SIZE, type HoldMode } from '../store/lock-store.js';
import type { Admission } from './admission.js';
import { aboutKey, repliedTooLate } from './refusals.js';
import type { ClientGrant, GrantUsers, Hold } from './hold.js';
import {
  capacityFor,
  mayShareGrant,
  MOST_SERVED,
  wantsTheSame,
  type Capacity,
  type Grant,
  type HoldTerms,
  type Places,
} from './hold-terms.js';
import type { Grants } from './grants.js';
import type { HoldReleases } from './hold-releases.js';
import { Ticket, type TicketListener, type TicketParts } from './ticket.js';
import type { Releases } from './releases.js';
import { validUntil } from './lease-view.js';
import { replyDue, Waiter, type WaitTerms } from './waiter.js';

/** After this many holds without a command, the event loop continues: they take some milliseconds. */
const MOST_IN_TURN = 1_000;

/** What callers acquire with. */
export interface AcquireParts extends TicketParts {
  readonly releases: Releases;
  readonly grants: Grants;
}

/** The queues of all keys for which callers of this client wait, or hold a grant that others may use. */
export class KeyQueues {
  readonly keys = new TransientMap<string, KeyQueue>();
  /** How many callers were granted a hold without a command in this turn of the event loop. */
  private servedInTurn = 0;

  constructor(
    readonly parts: AcquireParts,
    private readonly admission: Admission,
    readonly releases: HoldReleases,
  ) {}

  /**
   * Waits for a hold: at once under a grant that this client has, or behind the earlier callers of the key.
   * @throws LockTimeoutError, LockStoreError, or the reason of the caller's signal
   */
  acquire(key: string, terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    const refusal = this.admission.refusal(key, wait);
    if (refusal !== undefined) return Promise.reject(refusal);
    const served = this.keys.get(key)?.serveAtOnce(terms);
    if (served !== undefined) return this.inItsTurn(served);
    const { context } = this.parts;
    const waiter = new Waiter(context, key, terms, context.clock.now(), wait.waitTimeout);
    let queue = this.keys.get(key);
    if (queue === undefined) this.keys.set(key, (queue = new KeyQueue(key, this)));
    queue.groupFor(terms, wait.waitTimeout > 0).join(waiter, wait);
    return waiter.promise;
  }

  /** Rejects all waiters with `reason`, in slices if there are very many. */
  dismissAll(reason: unknown): Promise<void> {
    return inSlices(waitersOf(this.keys.values()), (waiter) => waiter?.refused(reason));
  }

  /** Lets the event loop continue after very many holds without a command in one turn. */
  private inItsTurn(hold: Hold): Promise<Hold> {
    if (this.servedInTurn === 0) {
      outside(() =>
        setImmediate(() => {
          this.servedInTurn = 0;
        }),
      );
    }
    this.servedInTurn += 1;
    if (this.servedInTurn <= MOST_IN_TURN) return Promise.resolve(hold);
    return new Promise((resolve) => setImmediate(resolve, hold));
  }
}

/**
 * The callers of this client for one key: the waiters in groups, and the grants that later callers may use. The waiters of a
 * group share one ticket in the store, whatever their number. There is one group for all plain exclusive callers; one for
 * callers that share grants (readers, or callers for the same number of permits), up to the next caller of another kind; and
 * one for each other caller.
 *
 * While a plain exclusive caller holds the key, the others wait for it without a ticket. A release passes the lock to the next
 * waiter as long as the grant allows. After that it goes to the store, and takes a place for the next waiter in the same step
 * (cohort locking: Dice, Marathe, Shavit).
 */
export class KeyQueue implements GrantUsers {
  /** The grant of the plain exclusive caller that holds the key. */
  held: ClientGrant | undefined;
  /** How many callers wait. One try does not. */
  waiting = 0;
  /** The group of plain exclusive waiters. */
  private plain: Group | undefined;
  /** The latest group of callers that share grants, which later ones may join. */
  private sharing: Group | undefined;
  /** Groups that no later caller joins. */
  private others: Set<Group> | undefined;
  /** The latest grant that readers may join. Earlier ones stop admitting callers before it does. */
  private latest: ClientGrant | undefined;
  /** Shared grants that may serve further callers, with the groups that they were granted to. Some may be over. */
  private open: Map<ClientGrant, Group> | undefined;

  constructor(
    readonly key: string,
    private readonly queues: Pick<KeyQueues, 'keys' | 'parts' | 'releases'>,
  ) {}

  /** Serves a caller without a command: beside the readers that share a grant, or in place of a hold that has just ended. */
  serveAtOnce(terms: HoldTerms): Hold | undefined {
    const { parts, releases } = this.queues;
    if (this.latest?.admits(terms) !== true) return releases.takeOver(this.key, terms);
    const hold = parts.grants.serve(this.latest, terms);
    parts.context.events.acquired(hold, hold.acquiredAt, false);
    return hold;
  }

  /** The group in which a caller waits. */
  groupFor(terms: HoldTerms, waits: boolean): Group {
    const { mode, fair } = terms;
    if (fair) this.closeGrants();
    const joinsPlain = waits && isPlain(terms);
    const capacity = joinsPlain ? 'one' : capacityFor(terms, this.queues.parts.context.limits.batch.size);
    if (waits) {
      if (capacity !== 'one' && this.sharing?.accepts(mode) === true) return this.sharing;
      if ((this.sharing ?? this.open) !== undefined) this.endSharing(capacity === 'one' ? undefined : mode, mode);
    }
    if (joinsPlain && this.plain !== undefined) return this.plain;
    const group = new Group(this, mode, capacity, waits, joinsPlain, this.queues.parts);
    if (joinsPlain) this.plain = group;
    else if (capacity !== 'one' && waits) this.sharing = group;
    else (this.others ??= new Set()).add(group);
    return group;
  }

  /** No further caller may use the current grants. */
  closeGrants(): void {
    this.held?.close();
    this.closeShared();
  }

  /** The shared grants serve no further caller, except grants for requests such as `except`. */
  closeShared(except?: HoldMode): void {
    if (this.open === undefined) return;
    for (const grant of this.open.keys()) {
      if (except === undefined || !wantsTheSame(grant.mode, except)) grant.close();
      // Requests must not get slower with the number of grants.
      if (grant.isOver) this.open.delete(grant);
    }
  }

  /** A grant for a group may serve later callers. */
  share(grant: ClientGrant, group: Group): void {
    (this.open ??= new Map()).set(grant, group);
    this.latest = grant;
  }

  handOff(hold: Hold): boolean {
    const { grant } = hold;
    if (grant === this.held) return this.plain?.passOn(hold) === true;
    const group = this.open?.get(grant);
    if (group === undefined) return false;
    if (group.passOn(hold)) return true;
    // The next waiter may be in a later group.
    const later = group.isClosed ? undefined : this.sharing;
    return later !== undefined && later !== group && later.accepts(grant.mode) && later.passOn(hold);
  }

  mayTakeOver(hold: Hold): boolean {
    const { grant, terms } = hold;
    if (grant.capacity !== 'one') return grant.isOnly(hold) && grant.admits(terms);
    return grant === this.held && this.plain === undefined && grant.mayPass(hold, terms);
  }

  takeOver(hold: Hold, terms: HoldTerms): Hold | undefined {
    if (!isPlain(terms) || hold.grant !== this.held || this.plain !== undefined) return undefined;
    if (!hold.grant.mayPass(hold, terms) || !hold.handOff()) return undefined;
    const next = this.queues.parts.grants.pass(hold, terms);
    this.publishHandoff(hold, next, next.acquiredAt, false);
    return next;
  }

  ended({ grant }: Hold): Ticket | undefined {
    let next: Ticket | undefined;
    if (grant === this.held) {
      // Before `held` is cleared, because the next timeout or grant names this holder.
      next = this.plain?.openTicket();
      this.held = undefined;
    } else {
      // Waiters that share grants have a ticket already.
      if (!grant.isEmpty && grant.state !== 'offered') return undefined;
      this.open?.delete(grant);
      if (this.latest === grant) this.latest = undefined;
    }
    this.forgetIfUnused();
    return next;
  }

  /** Reports a handoff within this client. Observers may call anything, so this is the last step. */
  publishHandoff(from: Hold, to: Hold, since: number, contended: boolean): void {
    const { events } = this.queues.parts.context;
    events.released(from);
    events.acquired(to, since, contended, [from.id]);
  }

  /** A group has no waiter any more. */
  forget(group: Group): void {
    if (this.plain === group) this.plain = undefined;
    else if (this.sharing === group) this.sharing = undefined;
    else this.others?.delete(group);
    this.forgetIfUnused();
  }

  groups(): Group[] {
    return [this.plain, this.sharing, ...(this.others ?? [])].filter((group) => group !== undefined);
  }

  /**
   * A new caller does not join the latest callers that share grants. They are served before it: later callers share
   * neither their ticket nor their grants, so that none of them passes this one.
   */
  private endSharing(except: HoldMode | undefined, mode: HoldMode): void {
    // A reader lets other readers share grants, whatever its own options.
    this.closeShared(except ?? (mode.kind === 'read' ? mode : undefined));
    const { sharing } = this;
    if (sharing === undefined) return;
    sharing.isClosed = true;
    this.sharing = undefined;
    (this.others ??= new Set()).add(sharing);
  }

  private forgetIfUnused(): void {
    const { held, plain, sharing, latest, others, open } = this;
    if ((held ?? plain ?? sharing ?? latest) !== undefined || others?.size || open?.size) return;
    if (this.queues.keys.get(this.key) === this) this.queues.keys.delete(this.key);
  }
}

/** Whether a request is plain: exclusive, without an owner, and not fair. */
const isPlain = ({ owner, mode, fair }: HoldTerms): boolean =>
  owner === undefined && mode.kind === 'exclusive' && !fair;

/**
 * Waiters that share one ticket, first come, first served. A grant for one at a time serves the first of them. A grant that
 * several share serves all readers, or as many callers as it has permits for, and the rest asks again at once.
 */
export class Group implements TicketListener {
  private readonly waiters = new LinkedList<Waiter>();
  private ticket: Ticket | undefined;
  /** Waiters that may still be granted the lock at once: the store has not replied yet. */
  private hopeful: Waiter[] | undefined;
  /** Later callers join another group, behind a caller of another kind. They do not share the grants of this one. */
  isClosed = false;
  /** Ids of the last holders that are known. For observers. */
  private lastHolders: readonly string[] | undefined;
  /** When the key was last known to be held. */
  private lastHeld: number | undefined;
  /** The latest reply says that no client holds the key: requests of the same moment have split the masters. */
  private isSplit = false;
  private overdue: Waiter[] | undefined;

  constructor(
    private readonly queue: KeyQueue,
    private readonly mode: HoldMode,
    private readonly capacity: Capacity,
    /** Otherwise its request is one try. */
    private readonly waits: boolean,
    /** Whether it is the group of the plain exclusive callers that wait. */
    private readonly isPlain: boolean,
    private readonly parts: AcquireParts,
  ) {}

  /** Whether a caller wants the same as the callers of this group. */
  accepts(mode: HoldMode): boolean {
    return wantsTheSame(this.mode, mode);
  }

  /** Adds a waiter, and ends its wait at its deadline or with its signal. */
  join(waiter: Waiter, { waitTimeout, replyBy, signal }: WaitTerms): void {
    this.waiters.append(waiter);
    if (this.waits) this.queue.waiting += 1;
    if (signal !== undefined) {
      // A listener that was called since the call began may have aborted it.
      if (signal.aborted) return this.giveUp(waiter, signal.reason);
      waiter.listenTo(signal, () => this.giveUp(waiter, signal.reason));
    }
    const held = this.isPlain ? this.queue.held : undefined;
    // If the hold was lost, another client may hold the lock now, or none.
    if (held?.holds[0]?.state === 'held') this.seenHeld();
    if (
      held !== undefined ||
      (this.ticket !== undefined && (this.capacity === 'one' || this.ticket.holders !== undefined))
    ) {
      this.reportContended(waiter);
    } else {
      (this.hopeful ??= []).push(waiter);
      if (this.ticket === undefined) this.requestFor(waiter).run();
    }
    // Behind the request: the store works meanwhile.
    const { limits, store } = this.parts.context;
    const { since } = waiter;
    waiter.replyBy = replyBy ?? replyDue(since, waitTimeout, limits.commandTimeout, store.replyTime);
    // A single try waits only for the reply.
    waiter.endBy(this.waits ? since + waitTimeout : waiter.replyBy, () => this.timedOut(waiter));
  }

  /** Removes all waiters. The caller rejects them. */
  removeAll(): Waiter[] {
    const waiters = this.waiters.items();
    for (const waiter of waiters) this.remove(waiter);
    this.closeTicket();
    return waiters;
  }

  granted(granted: Grant): void {
    this.forgetTicket();
    const { context, releases } = this.parts;
    const { terms } = this.waiters.first!;
    const lease = Math.min(granted.lease, terms.lease);
    if (validUntil(granted.from, lease) > context.clock.now()) return this.serveUnder(granted, terms);
    // The reply was so late that the lease may be over.
    releases.leave(this.queue.key, granted.id, releases.tombstoneFor(granted.epoch), granted.from + granted.longest);
    if (this.waits) this.openTicket().ask();
    else this.failed(repliedTooLate(this.queue.key, lease, true));
  }

  contended(isSplit: boolean): void {
    if (isSplit) this.endOverdue();
    else this.seenHeld();
    this.isSplit = isSplit;
    if (!this.waits) this.forgetTicket();
    const { hopeful } = this;
    this.hopeful = undefined;
    for (const waiter of hopeful ?? []) if (this.waiters.has(waiter)) this.reportContended(waiter);
  }

  outdated(released: Promise<unknown>): void {
    const next = this.openTicket();
    void released.then(() => {
      if (this.ticket === next) next.ask();
    });
  }

  failed(error: LockError): void {
    this.forgetTicket();
    const reason = aboutKey(this.queue.key, error);
    // In slices, because there may be thousands.
    void inSlices(this.removeAll(), (waiter) => waiter.refused(reason));
  }

  /** Serves as many waiters as the grant has places for. */
  private serveUnder(granted: Grant, terms: HoldTerms): void {
    const { grants, context, releases } = this.parts;
    const { capacity, queue } = this;
    const isLone = capacity === 'one' && !this.isPlain;
    const mode = capacity === 'one' ? terms.mode : this.mode;
    const grant = grants.add({ key: this.queue.key, mode }, granted, capacity, isLone ? undefined : queue);
    const { places } = grant;
    if (capacity === 'one') this.hopeful = undefined;
    const served: Array<{ readonly waiter: Waiter; readonly hold: Hold }> = [];
    for (let { first } = this.waiters; first !== undefined && served.length < places; { first } = this.waiters) {
      this.remove(first);
      const from = served.length === 0 ? granted.from : undefined;
      served.push({ waiter: first, hold: grants.serve(grant, first.terms, from) });
    }
    if (capacity === 'one') {
      if (!isLone) queue.held = grant;
      this.holdsNow(served[0]!.hold);
    } else {
      queue.share(grant, this);
      // The permits still pass to the other waiters of this group.
      if (this.isClosed && capacity === 'readers') grant.close();
      // Some callers have stopped waiting since the request was sent.
      if (served.length < places && capacity === 'permits') releases.sendUnits(grant).catch(() => undefined);
      if (this.waiters.first === undefined) queue.forget(this);
      else {
        // While permits are free and others wait, the callers that have been served must not add up.
        this.hopeful = this.hopeful?.filter((waiter) => this.waiters.has(waiter));
        this.seenHeld();
        this.openTicket().run();
      }
    }
    for (const { waiter, hold } of served) waiter.served(hold);
    // Observers may call anything, so this is the last step.
    for (const { waiter, hold } of served)
      context.events.acquired(hold, waiter.since, waiter.isContended, this.lastHolders);
  }

  /** Hands a hold to the first waiter, if the grant allows that. */
  passOn(hold: Hold): boolean {
    const { first } = this.waiters;
    if (first === undefined || !hold.grant.mayPass(hold, first.terms) || !hold.handOff()) return false;
    this.remove(first);
    const next = this.parts.grants.pass(hold, first.terms);
    if (this.capacity === 'one') this.holdsNow(next);
    else this.passTicketOn();
    first.served(next);
    this.queue.publishHandoff(hold, next, first.since, first.isContended);
    return true;
  }

  /** One caller of this group holds the key alone. */
  private holdsNow({ acquiredAt }: Hold): void {
    if (this.waiters.first === undefined) this.queue.forget(this);
    else this.seenHeld(acquiredAt);
  }

  private remove(waiter: Waiter): void {
    if (this.waiters.remove(waiter) && this.waits) this.queue.waiting -= 1;
  }

  /** How many waiters the ticket asks for, from `first` on, and how their grant is shared. */
  private placesFor(first: Waiter): Places {
    const { terms, since, behind } = first;
    const { waits, capacity, waiters } = this;
    const { limits, store } = this.parts.context;
    if (capacity === 'permits') {
      const batchSize = waits ? limits.batch.size : 1;
      const uncontendedBatchSize = waiters.size > 1 ? Math.max(batchSize, UNCONTENDED_BATCH_SIZE) : batchSize;
      // The number of callers changes while the ticket waits.
      const most = store.permits === undefined ? 1 : MOST_SERVED;
      const slots = (): number => Math.min(Math.max(1, waiters.size), most);
      return { waits, batchSize, uncontendedBatchSize, slots, since };
    }
    const batchSize = this.isPlain && mayShareGrant(terms) ? limits.batch.size : 1;
    const uncontendedBatchSize = batchSize > 1 && behind !== undefined ? UNCONTENDED_BATCH_SIZE : batchSize;
    return { waits, batchSize, uncontendedBatchSize, since };
  }

  /** Reports that another caller holds the key for which a waiter waits. A single try ends then. */
  private reportContended(waiter: Waiter): void {
    // Before observers are called, because they may release the lock, which serves the waiter.
    if (this.waits) waiter.keepAlive();
    if (!waiter.isContended) {
      waiter.isContended = true;
      this.parts.context.events.contended(waiter, this.holders());
    }
    if (!this.waits) this.timedOut(waiter);
  }

  private seenHeld(at = this.parts.context.clock.now()): void {
    this.lastHeld = at;
    this.isSplit = false;
    this.endOverdue();
  }

  /** Makes a new request for the waiters. A group without waiters is forgotten, and has none. */
  openTicket(): Ticket {
    this.forgetTicket();
    return this.requestFor(this.waiters.first!);
  }

  private requestFor(waiter: Waiter): Ticket {
    this.ticket = new Ticket(this.parts, this.queue.key, waiter.terms, this.placesFor(waiter), this);
    const isOneOfMany = this.waits && !this.isPlain && this.capacity === 'one';
    // A named owner that holds the key passes the queue, so its grants follow no order.
    this.parts.tickets.add(this.ticket, isOneOfMany && waiter.terms.owner === undefined);
    return this.ticket;
  }

  private forgetTicket(): void {
    this.lastHolders = this.holders();
    if (this.ticket !== undefined) this.parts.tickets.remove(this.ticket);
    this.ticket = undefined;
  }

  /** The first waiter needs the ticket no more: the next one gets it. */
  private passTicketOn(): void {
    const { first } = this.waiters;
    if (first === undefined) this.closeTicket();
    else this.ticket?.inherit(first.terms, this.placesFor(first));
  }

  /** No waiter is left. */
  private closeTicket(): void {
    const { ticket } = this;
    this.forgetTicket();
    ticket?.leave();
    this.queue.forget(this);
  }

  /** Ids of the holders that are known. */
  private holders(): readonly string[] | undefined {
    const held = this.isPlain ? this.queue.held : undefined;
    return held === undefined ? (this.ticket?.holders ?? this.lastHolders) : [held.id];
  }

  private timedOut(waiter: Waiter): void {
    // It was removed together with many others, and is about to be rejected with their reason.
    if (!this.waiters.has(waiter)) return;
    const { events } = this.parts.context;
    const isUnanswered = this.isUnanswered(waiter);
    if (isUnanswered && waiter.outlast(waiter.replyBy)) {
      (this.overdue ??= []).push(waiter);
      return;
    }
    const trouble = isUnanswered ? this.noReply(waiter) : this.ticket?.error;
    if (trouble === undefined) events.timeout(waiter, this.holders());
    this.giveUp(waiter, trouble === undefined ? this.timeoutError(waiter) : aboutKey(this.queue.key, trouble));
  }

  /** A waiter ends without a hold. The waiters behind it keep the place. */
  private giveUp(waiter: Waiter, reason: unknown): void {
    const wasFirst = this.waiters.first === waiter;
    this.remove(waiter);
    if (wasFirst) this.passTicketOn();
    waiter.refused(reason);
  }

  /**
   * Whether the client does not know yet that the key was held while the waiter waited. If a caller of this client was the
   * holder, the client knows, even before the store replies to the request that the release sends for the next waiter.
   */
  private isUnanswered({ since }: Waiter): boolean {
    return (this.lastHeld === undefined || this.lastHeld < since) && this.ticket?.isUnanswered === true;
  }

  private endOverdue(): void {
    const { overdue } = this;
    if (overdue === undefined) return;
    this.overdue = undefined;
    const now = this.parts.context.clock.now();
    // A timer ends them, not this call: their callers and observers may call anything, and this queue is being changed.
    for (const waiter of overdue) waiter.moveDeadline(now);
  }

  private timeoutError({ waitTimeout }: Waiter): LockTimeoutError {
    const { isSplit } = this;
    // If the holder is in this process, the message does not send the reader to another one.
    const isLocal = this.holders()?.some((id) => this.parts.grants.has(id));
    return notGranted(this.queue.key, { isSplit, isLocal, waitTimeout: this.waits ? waitTimeout : undefined });
  }

  private noReply({ since }: Waiter): LockStoreError {
    const { clock, store } = this.parts.context;
    const { key } = this.queue;
    const waited = Math.round(clock.now() - since);
    const { outage: cause } = store;
    const message = cause?.message ?? `Redis has not answered for ${waited} ms whether '${key}' is free`;
    return new LockStoreError(message, { key, cause, transient: true });
  }
}

/** The error of a caller that was not granted the lock. `waitTimeout`: left out for one try. */
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

/** Removes the waiters, group by group. Yields `undefined` before each group, because a slice also limits its groups. */
function* waitersOf(queues: Iterable<KeyQueue>): Generator<Waiter | undefined> {
  for (const queue of queues) {
    for (const group of queue.groups()) {
      yield undefined;
      yield* group.removeAll();
    }
  }
}

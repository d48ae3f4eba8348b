import { READING_TIME, type TimerQueue } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import { TransientMap, TransientSet } from '../common/transient.js';
import { LockStoreError, LockTimeoutError } from '../errors/index.js';
import type { LockStore } from '../store/lock-store.js';
import type { RequestEnvironment } from './acquire-request.js';
import type { EventPublisher } from './event-publisher.js';
import type { Grant, Hold, HoldTerms } from './hold.js';
import type { HoldRegistry } from './hold-registry.js';
import { AcquireQueue, type AcquireQueueEnvironment, type BatchLimits } from './acquire-queue.js';
import type { Ticket } from './ticket.js';
import { answerDue, Waiter, type WaitTerms } from './waiter.js';

/** What the waiting room needs from its surroundings. */
export interface AcquireQueuesEnvironment extends RequestEnvironment {
  readonly localTurns: BatchLimits;
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly publisher: EventPublisher;
  readonly holds: HoldRegistry<AcquireQueue>;
  nextId(): string;
  disown(key: string, ids: readonly string[]): void;
  disownHolders(key: string, holders: readonly string[]): void;
  leave(key: string, id: string, remember: number): void;
  memoryFor(grant: Grant): number;
}

/** Those of this client who wait for a lock: which queue they stand in, for how long, and what they are told in the end. */
export class AcquireQueues implements AcquireQueueEnvironment {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly publisher: EventPublisher;
  readonly random: () => number;
  readonly commandTimeout: number;
  readonly grantTimeout: number;
  readonly localTurns: BatchLimits;

  private readonly holds: HoldRegistry<AcquireQueue>;
  private readonly tickets = new TransientMap<string, Ticket>();
  /** Queues that acquisitions of a key share; those with an owner of their own, or one try, each have their own. */
  private readonly sharedQueues = new TransientMap<string, AcquireQueue>();
  private readonly ownQueues = new TransientSet<AcquireQueue>();

  constructor(private readonly environment: AcquireQueuesEnvironment) {
    this.store = environment.store;
    this.clock = environment.clock;
    this.timers = environment.timers;
    this.publisher = environment.publisher;
    this.random = environment.random;
    this.commandTimeout = environment.commandTimeout;
    this.grantTimeout = environment.grantTimeout;
    this.localTurns = environment.localTurns;
    this.holds = environment.holds;
  }

  /** Waits for a hold. */
  wait(terms: HoldTerms, { waitTimeout, answerBy, signal }: WaitTerms): Promise<Hold> {
    const since = this.clock.now();
    const due = answerBy ?? answerDue(since, waitTimeout, this.commandTimeout, this.store.answerTime);
    const waiter = new Waiter(terms, since, waitTimeout, due);
    const queue = this.queueFor(terms, waitTimeout > 0);
    if (signal !== undefined) waiter.listenTo(signal, () => this.giveUp(queue, waiter, signal.reason));
    // One try has nothing to wait for but the answer.
    const deadline = waitTimeout > 0 ? since + waitTimeout : due;
    waiter.deadline = this.timers.add(deadline, () => this.timedOut(queue, waiter));
    queue.join(waiter);
    return waiter.promise;
  }

  /** The acquisition on its way that has this id. */
  ticket(id: string): Ticket | undefined {
    return this.tickets.get(id);
  }

  /** Those who wait here for a key do not pass it on to each other any more, for now. */
  endTurns(key: string): void {
    this.sharedQueues.get(key)?.endTurns();
  }

  /** Everybody asks now. */
  askNow(): void {
    for (const ticket of this.tickets.values()) ticket.ask();
  }

  /** Everybody who waits is told `reason`. */
  dismissAll(reason: unknown): void {
    for (const queue of [...this.sharedQueues.values(), ...this.ownQueues.values()]) queue.dismissAll(reason);
  }

  // What queues and tickets need.

  nextId(): string {
    return this.environment.nextId();
  }

  disown(key: string, ids: readonly string[]): void {
    this.environment.disown(key, ids);
  }

  disownHolders(key: string, holders: readonly string[]): void {
    this.environment.disownHolders(key, holders);
  }

  leave(key: string, id: string, remember: number): void {
    this.environment.leave(key, id, remember);
  }

  memoryFor(grant: Grant): number {
    return this.environment.memoryFor(grant);
  }

  expect(ticket: Ticket): void {
    this.tickets.set(ticket.id, ticket);
  }

  forget(ticket: Ticket): void {
    this.tickets.delete(ticket.id);
  }

  hold(queue: AcquireQueue, waiter: Waiter, grant: Grant): Hold {
    this.timers.cancel(waiter.deadline);
    return this.holds.add(queue, waiter.terms, grant);
  }

  succeed(queue: AcquireQueue, previous: Hold, waiter: Waiter): Hold {
    this.timers.cancel(waiter.deadline);
    return this.holds.succeed(queue, previous, waiter.terms);
  }

  contended(queue: AcquireQueue, waiter: Waiter): void {
    // Before an observer hears of it, who may have it served at once.
    if (queue.waits) waiter.keepAlive(this.clock);
    this.publisher.contended(waiter);
    if (!queue.waits) this.timedOut(queue, waiter);
  }

  dismiss(waiter: Waiter, reason: unknown): void {
    this.timers.cancel(waiter.deadline);
    waiter.refused(reason);
  }

  emptied(queue: AcquireQueue): void {
    if (this.sharedQueues.get(queue.key) === queue) this.sharedQueues.delete(queue.key);
    else this.ownQueues.delete(queue);
  }

  private queueFor(terms: HoldTerms, waits: boolean): AcquireQueue {
    const shares = waits && terms.owner === undefined && terms.mode.kind === 'exclusive' && !terms.fair;
    if (terms.fair) this.endTurns(terms.key);
    const known = shares ? this.sharedQueues.get(terms.key) : undefined;
    if (known !== undefined) return known;
    const queue = new AcquireQueue(terms.key, this, waits, shares);
    if (shares) this.sharedQueues.set(terms.key, queue);
    else this.ownQueues.add(queue);
    return queue;
  }

  private giveUp(queue: AcquireQueue, waiter: Waiter, reason: unknown): void {
    queue.quit(waiter);
    this.dismiss(waiter, reason);
  }

  private timedOut(queue: AcquireQueue, waiter: Waiter): void {
    const { key } = waiter.terms;
    const unanswered = queue.isUnanswered(waiter);
    if (unanswered && !waiter.overdue) {
      queue.awaitAnswer(waiter);
      this.timers.move(waiter.deadline!, Math.max(waiter.answerBy, this.clock.now() + READING_TIME));
      return;
    }
    const trouble = unanswered ? this.unanswered(waiter) : queue.trouble;
    if (trouble === undefined) this.publisher.timeout(waiter);
    this.giveUp(queue, waiter, trouble ?? new LockTimeoutError(this.whyTimedOut(queue, waiter), { key }));
  }

  private unanswered({ terms: { key }, since }: Waiter): LockStoreError {
    const waited = Math.round(this.clock.now() - since);
    const { outage: cause } = this.store;
    const message = cause?.message ?? `Redis has not answered for ${waited} ms whether '${key}' is free`;
    return new LockStoreError(message, { key, cause, transient: true });
  }

  private whyTimedOut(queue: AcquireQueue, { terms: { key }, waitTimeout }: Waiter): string {
    const message = queue.waits
      ? `'${key}' was held by others for the whole of its waitTimeout of ${waitTimeout} ms`
      : `'${key}' is held by others`;
    // Whoever waits for itself would look for another process in vain.
    return this.holds.has(key) ? `${message} (held by this process itself)` : message;
  }
}

import type { TimerQueue } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { TransientMap } from '../common/transient.js';
import { LockStoreError, type LockLostError } from '../errors/index.js';
import type { LockStore } from '../store/lock-store.js';
import type { EventPublisher } from './event-publisher.js';
import type { Question } from './lease-view.js';
import { Hold, type Grant, type HoldObserver, type HoldTerms, type LossListener, type ReplicaTerms } from './hold.js';
import { Watchdog, type WatchdogObserver } from './watchdog.js';

/** What a keeper needs from its surroundings. */
export interface HoldRegistryEnvironment {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly logger: LockLogger;
  readonly publisher: EventPublisher;
  /** ms */
  readonly commandTimeout: number;
  /** Sends what nobody waits for: a leave. */
  leave(key: string, id: string, remember: number): void;
  /** For how many ms it is to be remembered that a hold has been given back. */
  memoryFor(hold: Hold): number;
}

/** Where a hold came from: the queue that has others for the key. */
export interface HoldOrigin {
  lost(hold: Hold): void;
}

/** Keeps the holds of a client: has them renewed, asks the store about them, and sees to their end. */
export class HoldRegistry<Origin extends HoldOrigin> implements HoldObserver, WatchdogObserver {
  private readonly holds = new TransientMap<string, { readonly hold: Hold; readonly origin: Origin | undefined }>();
  /** How many holds there are of each key. */
  private readonly counts = new TransientMap<string, number>();
  private readonly watchdog: Watchdog;
  private onIdle: (() => void) | undefined;

  constructor(private readonly environment: HoldRegistryEnvironment) {
    const { store, clock, timers, logger } = environment;
    this.watchdog = new Watchdog(store, clock, timers, logger, this);
  }

  /** Makes the hold of a grant, and watches over it; `origin`: who is to take it over after this hold. */
  add(origin: Origin | undefined, terms: HoldTerms, grant: Grant): Hold {
    return this.keep(origin, new Hold(terms, grant, this.environment.clock, this));
  }

  /** Makes the hold of the next one in turn, under the grant of a hold that has been removed. */
  succeed(origin: Origin, previous: Hold, terms: HoldTerms): Hold {
    const hold = this.keep(origin, previous.passTo(terms));
    // A lease that is not renewed is to be all of it; the section begins meanwhile.
    if (!terms.renews) this.watchdog.askNow([hold]);
    return hold;
  }

  private keep(origin: Origin | undefined, hold: Hold): Hold {
    this.holds.set(hold.id, { hold, origin });
    this.counts.set(hold.key, (this.counts.get(hold.key) ?? 0) + 1);
    this.watchdog.watch(hold);
    return hold;
  }

  get(id: string): Hold | undefined {
    return this.holds.get(id)?.hold;
  }

  /** Where the hold of an acquisition came from. */
  originOf(id: string): Origin | undefined {
    return this.holds.get(id)?.origin;
  }

  /** Whether this client holds a key. */
  has(key: string): boolean {
    return this.counts.has(key);
  }

  all(): Hold[] {
    return this.holds.values().map(({ hold }) => hold);
  }

  /** Stops renewing a hold and forgets it; answers where it came from. */
  remove(hold: Hold): Origin | undefined {
    this.watchdog.forget(hold);
    const origin = this.holds.get(hold.id)?.origin;
    if (this.holds.delete(hold.id)) this.uncount(hold.key);
    if (this.holds.size === 0) this.onIdle?.();
    return origin;
  }

  private uncount(key: string): void {
    const left = (this.counts.get(key) ?? 0) - 1;
    if (left > 0) this.counts.set(key, left);
    else this.counts.delete(key);
  }

  /** Nobody can release this hold any more: it ends with its lease. */
  abandon(hold: Hold, why?: string): void {
    this.watchdog.abandon(hold, why);
  }

  /** How often the owner of a hold has its key in this client, in the same way. */
  countOf({ terms, key, owner, handles }: Hold): number {
    if (terms.owner === undefined) return handles;
    const { kind } = terms.mode;
    const same = this.all().filter(
      (other) => other.key === key && other.owner === owner && other.terms.mode.kind === kind && other.isHeld,
    );
    return same.reduce((count, other) => count + other.handles, 0);
  }

  /** @throws LockLostError, LockStoreError */
  async verify(hold: Hold): Promise<void> {
    if (!hold.isHeld) hold.assertHeld();
    // They may take their time, and what is left of the lease is to be recent.
    const { replicas } = hold.terms;
    const unconfirmed = replicas && (await this.unconfirmedBy(replicas, hold));
    const isSure = (await this.lookAt(hold)) || (await this.lookAt(hold));
    hold.assertHeld();
    if (!isSure) this.watchdog.askNow([hold]);
    if (unconfirmed !== undefined) throw unconfirmed;
  }

  /** Answers whether the answer was the last word. */
  private async lookAt(hold: Hold): Promise<boolean> {
    if (!hold.isHeld) hold.assertHeld();
    const { store } = this.environment;
    const { key, id } = hold;
    const question = hold.ask(store.epoch, this.watchdog.leaseToVerify(hold));
    const [left] = await store.renew([{ key, id, lease: question.lease }]);
    if (left instanceof Error) throw left;
    if (left === 'gone') this.gone(hold);
    else return !this.heard(hold, question, left ?? 0);
    return true;
  }

  /** It may have been passed on meanwhile. Answers whether to ask again at once. */
  private heard(hold: Hold, question: Question, left: number): boolean {
    const holder = this.holderOf(hold);
    return holder !== undefined && this.watchdog.heard(holder, question, left);
  }

  /**
   * A master that is cut off from its replicas goes on to confirm what it has, while one of them has taken over: so they
   * are asked for by a hold that was taken with them. Answers why that failed.
   */
  private async unconfirmedBy({ min, timeout }: ReplicaTerms, { key, id }: Hold): Promise<LockStoreError | undefined> {
    const replicas = await this.environment.store.replicate({ key, id, min, timeout });
    if (replicas >= min) return undefined;
    const message = `${replicas} of at least ${min} replicas confirmed '${key}' within ${timeout} ms: it may be held elsewhere`;
    return new LockStoreError(message, { key, transient: true });
  }

  /** @throws LockLostError, LockStoreError */
  async extend(hold: Hold, lease: number): Promise<void> {
    if (!hold.isHeld) return hold.assertHeld();
    const { store, commandTimeout } = this.environment;
    const { epoch } = store;
    const [question, extension] = hold.resize(epoch, lease, 2 * commandTimeout);
    this.watchdog.reschedule(hold);
    const left = await store.extend({ key: hold.key, id: hold.id, lease });
    if (left instanceof Error) throw left;
    // Without a reconnect there was one copy of it.
    if (epoch === store.epoch) hold.settled(extension);
    if (left === 'gone') this.gone(hold);
    else this.heard(hold, question, left);
    hold.assertHeld();
  }

  /** Asks the store about all holds now: the connection is back. */
  askNow(): void {
    this.watchdog.askNow(this.all());
  }

  /** Resolves when nothing is held, or after `timeout` ms. */
  idle(timeout: number): Promise<void> {
    if (this.holds.size === 0) return Promise.resolve();
    const { timers, clock } = this.environment;
    const sleep = clock.keepAlive();
    return new Promise<void>((resolve) => {
      const limit = timers.add(clock.now() + timeout, resolve);
      this.onIdle = () => {
        timers.cancel(limit);
        resolve();
      };
    }).finally(sleep);
  }

  lost(hold: Hold, error: LockLostError): void {
    const origin = this.remove(hold);
    this.environment.logger.warn(error.message);
    this.environment.publisher.lost(hold, error.message);
    origin?.lost(hold);
  }

  holderOf({ id }: Hold): Hold | undefined {
    return this.get(id);
  }

  async tellLoss(listener: LossListener, error: LockLostError): Promise<void> {
    try {
      await listener(error);
    } catch (failure) {
      const why = failure instanceof Error ? failure.message : String(failure);
      this.environment.logger.error(`onLost of '${error.key}' failed: ${why}`);
    }
  }

  renewed(hold: Hold): void {
    this.environment.publisher.renewed(hold);
  }

  gone({ id }: Hold): void {
    // Who has it in turn by now has it under the same grant. An answer that a release has overtaken says nothing.
    const hold = this.holds.get(id)?.hold;
    if (hold?.state !== 'held') return;
    hold.lose('Redis does not know it any more (its key was deleted, or its lease ended)');
    // So that those who wait are not left waiting for a lease that is no more.
    this.environment.leave(hold.key, hold.id, this.environment.memoryFor(hold));
  }
}

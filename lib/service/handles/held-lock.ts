import { AsyncResource } from 'node:async_hooks';
import { inspect, type InspectOptions } from 'node:util';
import type { Duration } from '../../common/duration.js';
import { namesOfKeys } from '../../common/describe.js';
import { outside } from '../../common/async-context.js';
import type { Hold, LossListener } from '../../engine/hold.js';
import { NO_TOKEN, type LockEngine, type Offer } from '../../engine/lock-engine.js';
import { LockConfigError, type LockLostError } from '../../errors/index.js';
import type { LockLostListener } from '../../options/acquire-options.js';
import type { Linked } from '../../common/linked-list.js';
import { newNonce, offerId, writeHandover } from './handover-text.js';
import type { LockHandle } from './lock-handle.js';
import { read } from '../../options/option-readers.js';

/** A store that keeps Redisson's plain locks has no tokens. */
const WITHOUT_TOKEN =
  'This lock has no fencing token: of the locks of Redisson, only an RFencedLock keeps one. Use redisson({ fenced: true }) ' +
  "and kind 'exclusive' here, and getFencedLock in Java.";

/** The results of releasing at once. Made outside of all scopes, so that they keep no async context. */
const HELD = outside(() => Promise.resolve(true));
const NOT_HELD = outside(() => Promise.resolve(false));

/** The other holds of a handle of one. */
const NONE: readonly Hold[] = Object.freeze([]);

/** A handover that has begun. */
interface StartedHandover {
  readonly nonce: string;
  readonly offer: Offer;
  /** Resolves to the ms that are left; `undefined`: it has failed. */
  offered: Promise<number> | undefined;
  text?: string;
}

const isHeldNow = (hold: Hold): boolean => hold.isHeld;
const isLost = (hold: Hold): boolean => hold.loss !== undefined;

/** How the last handle of a hold releases it. */
type Command = 'release' | 'releaseInBackground';

/**
 * The handle of a lock: of one hold, or of those of several keys that were acquired together. By re-entry several handles
 * share a hold, and the last release of a handle releases it. The engine refers to young handles only (`DroppedHandles`), so
 * that a dropped handle can be garbage-collected.
 */
export class HeldLock implements LockHandle, Linked<HeldLock> {
  /** Called when the handle is released. */
  onReleased: (() => void) | undefined;
  /** The result of the release. No promise if it needed no command, so that a caller need not wait. */
  private released: boolean | Promise<boolean> | undefined;
  private listeners: LossListener[] | undefined;
  private isGuarded = false;
  /** The list of young handles, and the neighbours in it. */
  list: object | undefined;
  before: HeldLock | undefined;
  behind: HeldLock | undefined;
  private abandoned = false;
  /** The signal of several holds. */
  private anySignal: AbortSignal | undefined;
  // Private, also towards `util.inspect`, because the nonce is a credential.
  #handover: StartedHandover | undefined;

  constructor(
    /** The hold of its key, or of the first of several keys. */
    private readonly hold: Hold,
    readonly engine: LockEngine,
    private readonly others: readonly Hold[] = NONE,
  ) {
    hold.handles += 1;
    for (const other of others) other.handles += 1;
  }

  /** Whether the holder has released it. */
  get isReleased(): boolean {
    return this.released !== undefined;
  }

  /** Of each key, in the order of the call. */
  get holds(): readonly Hold[] {
    return [this.hold, ...this.others];
  }

  get key(): string {
    return this.hold.key;
  }

  get keys(): readonly string[] {
    return this.holds.map(({ key }) => key);
  }

  get owner(): string {
    for (const other of this.others) other.exposeOwner();
    return this.hold.exposeOwner();
  }

  get kind(): 'exclusive' | 'read' | 'permits' {
    return this.hold.terms.mode.kind;
  }

  get units(): number {
    return this.hold.units;
  }

  get fencingToken(): number {
    if (this.hold.token === NO_TOKEN) throw new LockConfigError(WITHOUT_TOKEN);
    return this.hold.token;
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return new Map(this.holds.flatMap(({ key, token }) => (token === NO_TOKEN ? [] : [[key, token]])));
  }

  /** The owner of the hold of each key, as its events name it. Does not make the owner known. */
  get holders(): ReadonlyMap<string, string> {
    return new Map(this.holds.map(({ key, terms, id }) => [key, terms.owner ?? id]));
  }

  get signal(): AbortSignal {
    if (this.others.length === 0) return this.hold.signal;
    return (this.anySignal ??= AbortSignal.any(this.holds.map(({ signal }) => signal)));
  }

  get isHeld(): boolean {
    return !this.isReleased && this.hold.isHeld && this.others.every(isHeldNow);
  }

  get holdCount(): number {
    if (!this.isHeld) return 0;
    const counted = Math.min(...this.holds.map((hold) => this.engine.grants.countOf(hold)));
    return this.abandoned ? counted + 1 : counted;
  }

  remainingTime(): number {
    return this.isReleased ? 0 : Math.min(...this.holds.map(({ remaining }) => remaining));
  }

  assertHeld(): void {
    this.refuseReleased();
    for (const hold of this.holds) hold.assertHeld();
  }

  async verify(): Promise<void> {
    this.refuseReleased();
    await Promise.all(this.holds.map((hold) => this.engine.leases.verify(hold)));
  }

  async extend(lease: Duration): Promise<void> {
    const ms = read.lease('lease', lease);
    this.refuseReleased();
    await Promise.all(this.holds.map((hold) => this.engine.leases.extend(hold, ms)));
  }

  async handOver(within?: Duration): Promise<string> {
    if (this.others.length > 0) throw acquiredTogether(this.keys);
    const given = within === undefined ? undefined : read.lease('within', within);
    const { handovers } = this.engine;
    if (this.#handover === undefined) {
      this.refuseReleased();
      const nonce = newNonce();
      const offer = { hold: this.hold, id: offerId(nonce), lease: given ?? this.restOfLease() };
      const offered = outside(() => handovers.start(offer));
      if (this.abandoned) this.reclaim();
      this.hold.handles -= 1;
      this.#handover = { nonce, offer, offered };
      void this.end(false);
    }
    const handover = this.#handover;
    handover.offered ??= outside(() => handovers.offer(handover.offer));
    try {
      const deadline = Date.now() + (await handover.offered);
      const { key, terms } = this.hold;
      handover.text ??= writeHandover({ key, nonce: handover.nonce, mode: terms.mode, deadline });
      return handover.text;
    } catch (error) {
      // The next call asks again.
      handover.offered = undefined;
      throw error;
    }
  }

  async releaseUnits(units: number): Promise<void> {
    const count = read.amount('units', units);
    this.refuseReleased();
    const { holds } = this;
    const small = holds.find(({ units }) => count > units || units === 0);
    if (small !== undefined) throw tooManyUnits(small.key, count, small.units);
    if (count < this.units) await Promise.all(holds.map((hold) => this.engine.releases.releaseUnits(hold, count)));
    else if (!(await this.release())) throw this.loss ?? this.hold.releasedError();
  }

  release(): Promise<boolean> {
    const released = this.releaseOnce('release');
    return typeof released === 'boolean' ? (released ? HELD : NOT_HELD) : released;
  }

  /** Releases the handle without waiting for the reply. A failure is logged, and a loss is an event. */
  releaseInBackground(): void {
    const isRepeated = this.released !== undefined;
    const released = this.releaseOnce('releaseInBackground');
    // The engine handles the failure of a hold, but not that of an earlier `release()`, or of several holds.
    if (typeof released !== 'boolean' && (isRepeated || this.others.length > 0)) released.catch(() => undefined);
  }

  /**
   * Releases the handle, unless that has been done. Returns no promise if that needs no command: other handles share the hold,
   * or a waiter of this process gets the lock.
   */
  releaseOnce(command: Command): boolean | Promise<boolean> {
    if (this.released !== undefined) return this.released;
    if (this.abandoned) this.reclaim();
    return this.end(this.others.length === 0 ? this.releaseHold(this.hold, command) : this.releaseAll(command));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch {
      // An error from here would hide the error of the block. The lease ends by itself.
      for (const hold of this.holds) {
        Promise.resolve(hold.releasing).catch((error: unknown) => this.engine.releases.reportFailure(hold, error));
      }
    }
  }

  /** The hold of one of its keys, until the handle is released. */
  holdOf(key: string): Hold | undefined {
    if (this.isReleased) return undefined;
    return this.hold.key === key ? this.hold : this.others.find((hold) => hold.key === key);
  }

  /** Stops the renewal if this handle is garbage-collected before it is released. */
  guardAgainstDropping(): this {
    if (!this.isGuarded) this.engine.dropped.guard(this);
    this.isGuarded = true;
    return this;
  }

  /**
   * Stops the renewal, so that the lock ends with its lease, unless another handle shares it or this one is released before.
   * `why` follows the key in the log: "was not unlocked".
   */
  abandon(why: string): void {
    if (this.abandoned || this.isReleased) return;
    this.abandoned = true;
    this.unguard();
    for (const hold of this.holds) {
      hold.handles -= 1;
      if (hold.handles === 0) this.engine.watchdog.abandon(hold, `'${hold.key}' ${why}`);
    }
  }

  /** Calls `listener` when the lock is lost; once, if several keys are. */
  onLost(listener: LockLostListener): void {
    const handle = new WeakRef<LockHandle>(this);
    const { hold, engine, others } = this;
    let isCalled = false;
    // In the async context of this call, not in that of the timer that notices the loss.
    const tell = AsyncResource.bind((error: LockLostError) => {
      if (isCalled) return undefined;
      isCalled = true;
      return listener(error, handle.deref() ?? new HeldLock(hold, engine, others));
    });
    for (const each of this.holds) each.onLost(tell);
    (this.listeners ??= []).push(tell);
  }

  /** The error of the loss, if the lock was lost. */
  get loss(): LockLostError | undefined {
    return this.hold.loss ?? this.others.find(isLost)?.loss;
  }

  /** What a log shows: the public facts, without the engine. */
  toJSON(): object {
    const { key, keys, owner, fencingTokens, isHeld } = this;
    if (keys.length === 1) return { key, owner, fencingToken: fencingTokens.get(key), isHeld };
    return { keys, owner, fencingTokens: Object.fromEntries(fencingTokens), isHeld };
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `LockHandle ${inspect(this.toJSON(), options)}`;
  }

  /** ms: how long the key stays locked for an adopter unless the caller says so. */
  private restOfLease(): number {
    const { terms, lastLease, remaining } = this.hold;
    return terms.renews ? lastLease : Math.max(1, Math.floor(remaining));
  }

  /** Ends the share of this handle in a hold, and releases the hold if no other handle shares it. */
  private releaseHold(hold: Hold, command: Command): boolean | Promise<boolean> {
    const { releases } = this.engine;
    hold.handles -= 1;
    if (hold.handles > 0) {
      // This handle does not react to the loss of the hold any more.
      for (const listener of this.listeners ?? []) hold.offLost(listener);
      return hold.isHeld;
    }
    // A promise keeps the async context in which it was made, and the handle keeps the promise.
    return outside(() => releases[command](hold));
  }

  private releaseAll(command: Command): Promise<boolean> {
    return outside(async () => {
      const results = await Promise.allSettled(this.holds.map(async (hold) => this.releaseHold(hold, command)));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      return results.every((result) => result.status === 'fulfilled' && result.value);
    });
  }

  /** Counts the share of this handle again, so that its release counts. */
  private reclaim(): void {
    this.abandoned = false;
    for (const hold of this.holds) hold.handles += 1;
  }

  private unguard(): void {
    if (this.isGuarded) this.engine.dropped.unguard(this);
    this.isGuarded = false;
  }

  private end(released: boolean | Promise<boolean>): boolean | Promise<boolean> {
    this.released = released;
    this.unguard();
    this.onReleased?.();
    return released;
  }

  private refuseReleased(): void {
    if (this.isReleased && this.loss === undefined) throw this.hold.releasedError();
  }
}

const acquiredTogether = (keys: readonly string[]): LockConfigError =>
  new LockConfigError(
    `${namesOfKeys(keys)} cannot be handed over, because they were acquired together: ` +
      'acquire each key on its own, and hand over each.',
    { key: keys[0]! },
  );

const tooManyUnits = (key: string, count: number, units: number): LockConfigError =>
  new LockConfigError(
    units === 0
      ? `releaseUnits(${count}) of '${key}': it is no semaphore, so it has no permits. Write release().`
      : `releaseUnits(${count}) of '${key}': the handle has ${units} permits. Write release() to release all of them.`,
    { key },
  );

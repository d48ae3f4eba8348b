import { AsyncResource } from 'node:async_hooks';
import { inspect, type InspectOptions } from 'node:util';
import type { Duration } from '../../common/duration.js';
import { outside } from '../../common/outside.js';
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

/** A handover that has begun. */
interface StartedHandover {
  readonly nonce: string;
  readonly offer: Offer;
  /** Resolves to the ms that are left; `undefined`: it has failed. */
  offered: Promise<number> | undefined;
  text?: string;
}

/**
 * The handle of one hold. By re-entry several handles share a hold, and the last release of a handle releases it. The
 * engine refers to young handles only (`DroppedHandles`), so that a dropped handle can be garbage-collected.
 */
export class HeldLock implements LockHandle, Linked<HeldLock> {
  /** Called when the handle is released. */
  onReleased: (() => void) | undefined;
  /** Whether the holder has released it. */
  isReleased = false;
  private released: Promise<boolean> | undefined;
  private listeners: LossListener[] | undefined;
  private isGuarded = false;
  /** The list of young handles, and the neighbours in it. */
  list: object | undefined;
  before: HeldLock | undefined;
  behind: HeldLock | undefined;
  private abandoned = false;
  // Private, also towards `util.inspect`, because the nonce is a credential.
  #handover: StartedHandover | undefined;

  constructor(
    readonly hold: Hold,
    readonly engine: LockEngine,
  ) {
    hold.handles += 1;
  }

  get key(): string {
    return this.hold.key;
  }

  get keys(): readonly string[] {
    return [this.hold.key];
  }

  get owner(): string {
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
    return new Map(this.hold.token === NO_TOKEN ? [] : [[this.hold.key, this.hold.token]]);
  }

  /** The owner of the hold of each key, as its events name it. Does not make the owner known. */
  get holders(): ReadonlyMap<string, string> {
    const { key, terms, id } = this.hold;
    return new Map([[key, terms.owner ?? id]]);
  }

  get signal(): AbortSignal {
    return this.hold.signal;
  }

  get isHeld(): boolean {
    return !this.isReleased && this.hold.isHeld;
  }

  get holdCount(): number {
    return this.isHeld ? this.engine.grants.countOf(this.hold) : 0;
  }

  remainingTime(): number {
    return this.isReleased ? 0 : this.hold.remaining;
  }

  assertHeld(): void {
    this.refuseReleased();
    this.hold.assertHeld();
  }

  async verify(): Promise<void> {
    this.refuseReleased();
    await this.engine.leases.verify(this.hold);
  }

  async extend(lease: Duration): Promise<void> {
    const ms = read.lease('lease', lease);
    this.refuseReleased();
    await this.engine.leases.extend(this.hold, ms);
  }

  async handOver(within?: Duration): Promise<string> {
    const given = within === undefined ? undefined : read.lease('within', within);
    const { handovers } = this.engine;
    if (this.#handover === undefined) {
      this.refuseReleased();
      const nonce = newNonce();
      const offer = { hold: this.hold, id: offerId(nonce), lease: given ?? this.restOfLease() };
      const offered = outside(() => handovers.start(offer));
      if (this.abandoned) this.reclaim();
      this.end();
      this.released = NOT_HELD;
      this.#handover = { nonce, offer, offered };
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
    if (count > this.units) throw tooManyUnits(this.key, count, this.units);
    if (count < this.units) return this.engine.releases.releaseUnits(this.hold, count);
    if (!(await this.release())) this.hold.assertHeld();
  }

  release(): Promise<boolean> {
    if (this.abandoned) this.reclaim();
    // A promise keeps the async context in which it was made, and the handle keeps the promise.
    if (!this.releaseAtOnce()) this.released ??= outside(() => this.releaseWith('release'));
    return this.released!;
  }

  /**
   * Releases the handle if that needs no command: other handles share the hold, or a waiter of this process gets the lock.
   * `false`: it is not released yet.
   */
  releaseAtOnce(): boolean {
    if (this.released !== undefined || this.abandoned) return false;
    if (this.hold.openHandles === 1) {
      if (!outside(() => this.engine.releases.handOff(this.hold))) return false;
      this.end();
      this.released = HELD;
      return true;
    }
    this.end();
    // The hold lives on with its other handles. This handle does not react to its loss any more.
    for (const listener of this.listeners ?? []) this.hold.offLost(listener);
    this.released = this.hold.isHeld ? HELD : NOT_HELD;
    return true;
  }

  /** Releases the handle without waiting for the answer. A failure is logged, and a loss is an event. */
  releaseInBackground(): void {
    if (this.releaseAtOnce()) return;
    if (this.abandoned) this.reclaim();
    if (this.released === undefined) this.released = outside(() => this.releaseWith('releaseInBackground'));
    else this.released.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch (error) {
      // An error from here would hide the error of the block. The lease ends by itself.
      this.engine.releases.reportFailure(this.hold, error);
    }
  }

  /** The handle of one of its keys. */
  part(key: string): HeldLock | undefined {
    return key === this.key ? this : undefined;
  }

  /** Makes another handle of the same hold. */
  reenter(): HeldLock {
    return new HeldLock(this.hold, this.engine);
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
    if (this.abandoned || !this.isHeld) return;
    this.abandoned = true;
    this.unguard();
    this.hold.abandonedHandles += 1;
    if (this.hold.openHandles === 0) this.engine.watchdog.abandon(this.hold, `'${this.key}' ${why}`);
  }

  /** Calls `listener` when the lock is lost. */
  onLost(listener: LockLostListener): void {
    const handle = new WeakRef<LockHandle>(this);
    const { hold, engine } = this;
    // In the async context of this call, not in that of the timer that notices the loss.
    const tell = AsyncResource.bind((error: LockLostError) =>
      listener(error, handle.deref() ?? new HeldLock(hold, engine)),
    );
    hold.onLost(tell);
    (this.listeners ??= []).push(tell);
  }

  /** The error of the loss, if the lock was lost. */
  get loss(): LockLostError | undefined {
    return this.hold.loss;
  }

  /** What a log shows: the public facts, without the engine. */
  toJSON(): { key: string; owner: string; fencingToken: number | undefined; isHeld: boolean } {
    const { key, owner, isHeld } = this;
    return { key, owner, fencingToken: this.fencingTokens.get(key), isHeld };
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `LockHandle ${inspect(this.toJSON(), options)}`;
  }

  /** ms: how long the key stays locked for an adopter unless the caller says so. */
  private restOfLease(): number {
    const { terms, lastLease, remaining } = this.hold;
    return terms.renews ? lastLease : Math.max(1, Math.floor(remaining));
  }

  private releaseWith(command: 'release' | 'releaseInBackground'): Promise<boolean> {
    this.end();
    return this.engine.releases[command](this.hold);
  }

  /** Counts the share of this handle again, so that the release below counts. */
  private reclaim(): void {
    this.abandoned = false;
    this.hold.abandonedHandles -= 1;
  }

  private unguard(): void {
    if (this.isGuarded) this.engine.dropped.unguard(this);
    this.isGuarded = false;
  }

  private end(): void {
    this.isReleased = true;
    this.unguard();
    this.onReleased?.();
    this.hold.handles -= 1;
  }

  private refuseReleased(): void {
    if (this.isReleased && this.hold.loss === undefined) throw this.hold.releasedError();
  }
}

const tooManyUnits = (key: string, count: number, units: number): LockConfigError =>
  new LockConfigError(
    units === 0
      ? `releaseUnits(${count}) of '${key}': it is no semaphore, so it has no permits. Write release().`
      : `releaseUnits(${count}) of '${key}': the handle has ${units} permits. Write release() to release all of them.`,
    { key },
  );

import { AsyncResource } from 'node:async_hooks';
import { inspect, type InspectOptions } from 'node:util';
import type { Duration } from '../../common/duration.js';
import { outside } from '../../common/outside.js';
import type { Hold, LossListener } from '../../engine/hold.js';
import type { LockEngine } from '../../engine/lock-engine.js';
import { LockLostError } from '../../errors/index.js';
import type { LockLostListener } from '../../options/acquire-options.js';
import { guardAgainstDropping, unguard, type Guard } from './dropped-handles.js';
import type { LockHandle } from './lock-handle.js';
import { readLease } from '../../options/option-readers.js';
import type { KeyHandle } from './own-handle.js';

/** What became of a share: made outside of all scopes, so that nobody's context is kept. */
const HELD = outside(() => Promise.resolve(true));
const NOT_HELD = outside(() => Promise.resolve(false));

/**
 * The handle of one hold. Several share it by re-entry, and the last one to be released releases it. The engine never
 * refers to handles, so that one which was forgotten can be found out.
 */
export class HeldLock implements KeyHandle {
  /** Called when the handle is released. */
  onReleased: (() => void) | undefined;
  private released: Promise<boolean> | undefined;
  private listeners: LossListener[] | undefined;
  private guard: Guard | undefined;
  private over = false;
  private abandoned = false;

  constructor(
    private readonly hold: Hold,
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
    this.hold.ownerIsKnown = true;
    return this.hold.owner;
  }

  get type(): 'exclusive' | 'read' | 'permits' {
    return this.hold.terms.mode.kind;
  }

  get fencingToken(): number {
    return this.hold.token;
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return new Map([[this.hold.key, this.hold.token]]);
  }

  get signal(): AbortSignal {
    return this.hold.signal;
  }

  get isHeld(): boolean {
    return !this.over && this.hold.isHeld;
  }

  /** Whether it has been given back, by its holder. */
  get isReleased(): boolean {
    return this.over;
  }

  get isAbandoned(): boolean {
    return this.abandoned;
  }

  get holdCount(): number {
    return this.isHeld ? this.engine.holdCount(this.hold) : 0;
  }

  remainingTime(): number {
    return this.over ? 0 : this.hold.remaining;
  }

  assertHeld(): void {
    this.refuseReleased();
    this.hold.assertHeld();
  }

  async verify(): Promise<void> {
    this.refuseReleased();
    await this.engine.verify(this.hold);
  }

  async extend(lease: Duration): Promise<void> {
    const ms = readLease('lease', lease);
    this.refuseReleased();
    await this.engine.extend(this.hold, ms);
  }

  release(): Promise<boolean> {
    if (this.abandoned) this.reclaim();
    // A promise keeps the async context in which it was made, and the handle keeps this one: with what its user had in it.
    if (!this.releaseShare()) this.released ??= outside(() => this.giveBack());
    return this.released as Promise<boolean>;
  }

  releaseShare(): boolean {
    if (this.released !== undefined || this.hold.handles - this.hold.forgottenHandles === 1) return false;
    this.end();
    // The hold lives on with its other handles, and what becomes of it does not concern this one any more.
    for (const listener of this.listeners ?? []) this.hold.offLost(listener);
    this.released = this.hold.isHeld ? HELD : NOT_HELD;
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch (error) {
      // Thrown from here it would hide what the block itself threw. The lease ends by itself.
      this.engine.reportFailedRelease(this.hold, error);
    }
  }

  part(key: string): HeldLock | undefined {
    return key === this.key ? this : undefined;
  }

  /** Another handle of the same hold. */
  reenter(): HeldLock {
    return new HeldLock(this.hold, this.engine);
  }

  /** Has a handle that nobody releases found out when it is collected. */
  guardAgainstDropping(): this {
    this.guard ??= guardAgainstDropping(this, this.hold, this.engine);
    return this;
  }

  abandon(why: string): void {
    if (this.abandoned || !this.isHeld) return;
    this.abandoned = true;
    if (this.guard !== undefined) unguard(this.guard);
    this.hold.forgottenHandles += 1;
    if (this.hold.forgottenHandles === this.hold.handles) this.engine.abandon(this.hold, `'${this.key}' ${why}`);
  }

  /** Has `listener` called when the lock is lost. */
  onLost(listener: LockLostListener): void {
    const handle = new WeakRef<LockHandle>(this);
    const { hold, engine } = this;
    // In the context of whoever asks for it, not in the scope of whatever lock the timer that calls it was made in.
    const tell = AsyncResource.bind((error: LockLostError) =>
      listener(error, handle.deref() ?? new HeldLock(hold, engine)),
    );
    hold.onLost(tell);
    (this.listeners ??= []).push(tell);
  }

  /** How the lock was lost, if it was. */
  get loss(): LockLostError | undefined {
    return this.hold.loss;
  }

  /** What a log shows of it: what its user may know, and nothing of the engine. */
  toJSON(): { key: string; owner: string; fencingToken: number; isHeld: boolean } {
    const { key, owner, fencingToken, isHeld } = this;
    return { key, owner, fencingToken, isHeld };
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `LockHandle ${inspect(this.toJSON(), options)}`;
  }

  private giveBack(): Promise<boolean> {
    this.end();
    return this.engine.release(this.hold);
  }

  /** Its share counts again, so as to be given back. */
  private reclaim(): void {
    this.abandoned = false;
    this.guard = undefined;
    this.hold.forgottenHandles -= 1;
  }

  private end(): void {
    this.over = true;
    if (this.guard !== undefined) unguard(this.guard);
    this.onReleased?.();
    this.hold.handles -= 1;
  }

  private refuseReleased(): void {
    if (this.over && this.hold.loss === undefined) {
      throw new LockLostError(`the lock '${this.key}' is not held any more: it has been released`, { key: this.key });
    }
  }
}

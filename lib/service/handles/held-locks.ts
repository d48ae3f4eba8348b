import { inspect, type InspectOptions } from 'node:util';
import { namesOfKeys } from '../../common/describe.js';
import { outside } from '../../common/outside.js';
import type { Duration } from '../../common/duration.js';
import { LockConfigError, type LockLostError } from '../../errors/index.js';
import type { LockLostListener } from '../../options/acquire-options.js';
import type { HeldLock } from './held-lock.js';
import type { LockHandle } from './lock-handle.js';

/** A handle with what only the library uses. */
export type OwnHandle = HeldLock | HeldLocks;

/** The handle of several locks that were acquired together: it is held as long as all of them are. */
export class HeldLocks implements LockHandle {
  onReleased: (() => void) | undefined;
  readonly keys: readonly string[];
  isReleased = false;
  private lostSignal: AbortSignal | undefined;
  private released: Promise<boolean> | undefined;

  constructor(private readonly parts: readonly HeldLock[]) {
    this.keys = parts.map(({ key }) => key);
  }

  get key(): string {
    return this.first.key;
  }

  get owner(): string {
    // Ask each part, so that each hold records that its owner is known.
    const [owner] = this.parts.map((part) => part.owner);
    return owner!;
  }

  get kind(): HeldLock['kind'] {
    return this.first.kind;
  }

  get units(): number {
    return this.first.units;
  }

  get fencingToken(): number {
    return this.first.fencingToken;
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return new Map(this.parts.flatMap(({ fencingTokens }) => [...fencingTokens]));
  }

  get holders(): ReadonlyMap<string, string> {
    return new Map(this.parts.flatMap(({ holders }) => [...holders]));
  }

  get signal(): AbortSignal {
    this.lostSignal ??= AbortSignal.any(this.parts.map(({ signal }) => signal));
    return this.lostSignal;
  }

  get isHeld(): boolean {
    return !this.isReleased && this.parts.every(({ isHeld }) => isHeld);
  }

  get holdCount(): number {
    return this.isHeld ? Math.min(...this.parts.map(({ holdCount }) => holdCount)) : 0;
  }

  get loss(): LockLostError | undefined {
    return this.parts.find(({ loss }) => loss !== undefined)?.loss;
  }

  remainingTime(): number {
    return Math.min(...this.parts.map((part) => part.remainingTime()));
  }

  assertHeld(): void {
    for (const part of this.parts) part.assertHeld();
  }

  async verify(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.verify()));
  }

  async extend(lease: Duration): Promise<void> {
    await Promise.all(this.parts.map((part) => part.extend(lease)));
  }

  async handOver(): Promise<string> {
    throw new LockConfigError(
      `${namesOfKeys(this.keys)} cannot be handed over, because they were acquired together: ` +
        'acquire each key on its own, and hand over each.',
      { key: this.key },
    );
  }

  async releaseUnits(units: number): Promise<void> {
    if (units === this.units) {
      await this.release();
      return this.loss === undefined ? undefined : Promise.reject(this.loss);
    }
    await Promise.all(this.parts.map((part) => part.releaseUnits(units)));
  }

  release(): Promise<boolean> {
    this.released ??= outside(() => this.releaseParts());
    return this.released;
  }

  releaseAtOnce(): boolean {
    return false;
  }

  releaseInBackground(): void {
    this.end();
    for (const part of this.parts) part.releaseInBackground();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
    await Promise.all(this.parts.map((part) => part[Symbol.asyncDispose]()));
  }

  part(key: string): HeldLock | undefined {
    return this.parts.find((part) => part.key === key);
  }

  onLost(listener: LockLostListener): void {
    // A weak reference: the listener must not keep alive a handle that was dropped.
    const self = new WeakRef(this);
    let isCalled = false;
    for (const part of this.parts) {
      part.onLost((error, handle) => {
        if (isCalled) return undefined;
        isCalled = true;
        return listener(error, self.deref() ?? handle);
      });
    }
  }

  guardAgainstDropping(): this {
    for (const part of this.parts) part.guardAgainstDropping();
    return this;
  }

  abandon(why: string): void {
    for (const part of this.parts) part.abandon(why);
  }

  toJSON(): object {
    const { keys, owner, isHeld } = this;
    return { keys, owner, fencingTokens: Object.fromEntries(this.fencingTokens), isHeld };
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `LockHandle ${inspect(this.toJSON(), options)}`;
  }

  private get first(): HeldLock {
    return this.parts[0]!;
  }

  private async releaseParts(): Promise<boolean> {
    this.end();
    const results = await Promise.allSettled(this.parts.map((part) => part.release()));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return results.every((result) => result.status === 'fulfilled' && result.value);
  }

  private end(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.onReleased?.();
  }
}

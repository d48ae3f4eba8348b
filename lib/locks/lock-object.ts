import type { Duration } from '../common/duration.js';
import { LockNotHeldError } from '../errors/index.js';
import type { AcquireOptions } from './acquire-options.js';
import type { LockHandle } from './lock-handle.js';
import type { LockInfo } from './lock-info.js';
import type { Lock } from './lock.js';

/** What a `Lock` object asks of the service. */
export interface LockObjectService {
  acquire(key: string, options: AcquireOptions): Promise<LockHandle>;
  tryAcquire(key: string, options: AcquireOptions): Promise<LockHandle | null>;
  forceRelease(key: string): Promise<boolean>;
  inspect(key: string): Promise<LockInfo | null>;
  /** The innermost handle of the key in the scopes around the caller. */
  inScope(key: string): LockHandle | undefined;
  /** The handles of an owner in this client, the latest last. */
  ofOwner(key: string, owner: string): LockHandle[];
}

/**
 * The `RLock` shape over the service. Without an owner it keeps the handles that it gave out, so as to know what
 * `unlock()` means; once calls through it have overlapped nobody knows any more, and it refuses.
 */
export class LockObject implements Lock {
  /** Handles given out through this object and still held, the latest last. */
  private given: LockHandle[] = [];
  /** Calls on their way. */
  private pending = 0;
  /** Those of them that began while something was held through this object. */
  private besides = 0;
  private overlapped = false;

  constructor(
    private readonly service: LockObjectService,
    readonly key: string,
    private readonly owner: string | undefined,
  ) {}

  lock(options: Omit<AcquireOptions, 'owner'> = {}): Promise<LockHandle> {
    return this.remember(this.service.acquire(this.key, { ...options, owner: this.owner }));
  }

  tryLock(waitTime: Duration = 0, leaseTime: Duration = 0): Promise<LockHandle | null> {
    const options = { waitTimeout: waitTime, expire: leaseTime, owner: this.owner };
    return this.remember(this.service.tryAcquire(this.key, options));
  }

  async unlock(): Promise<void> {
    const handle = this.latest();
    if (handle !== undefined && (this.overlapped || this.besides > 0)) {
      throw this.notHeld(
        'calls through it overlapped (shared Lock object: release the handle that lock() returned). ' +
          'The lock stays held until its handle is released',
      );
    }
    if (handle === undefined) throw this.notHeld('nothing is held by this scope or through this object');
    if (!(await handle.release())) throw this.notHeld('the lock had been lost');
  }

  async forceUnlock(): Promise<boolean> {
    const ended = new Set(this.given);
    const released = await this.service.forceRelease(this.key);
    // Their holds hear of it later than this caller.
    this.given = this.given.filter((handle) => !ended.has(handle));
    return released;
  }

  async isLocked(): Promise<boolean> {
    const info = await this.service.inspect(this.key);
    return info !== null && info.holds > 0;
  }

  isHeldByCurrentContext(): boolean {
    return this.latest() !== undefined;
  }

  async isHeldBy(owner: string): Promise<boolean> {
    const info = await this.service.inspect(this.key);
    return info?.holders.some((holder) => holder.owner === owner && !holder.kept) ?? false;
  }

  getHoldCount(): number {
    return this.latest()?.holdCount ?? 0;
  }

  async remainTimeToLive(): Promise<number> {
    return (await this.service.inspect(this.key))?.ttl ?? -2;
  }

  /** What `unlock()` would release. */
  private latest(): LockHandle | undefined {
    if (this.owner !== undefined) return this.service.ofOwner(this.key, this.owner).at(-1);
    this.forgetEnded();
    return this.given.at(-1) ?? this.service.inScope(this.key);
  }

  /**
   * Keeps what a call through this object takes, and sees whether another one is on its way or has not released yet. A
   * call that comes alone and gets nothing changes nothing: there is one holder, before it and after.
   */
  private async remember<T extends LockHandle | null>(acquisition: Promise<T>): Promise<T> {
    if (this.owner !== undefined) return acquisition;
    this.forgetEnded();
    const reenters = this.service.inScope(this.key) !== undefined;
    const beside = this.given.length > 0 && !reenters ? 1 : 0;
    if (this.pending > 0) this.overlapped = true;
    this.pending += 1;
    this.besides += beside;
    try {
      const handle = await acquisition;
      if (handle === null) return handle;
      if (beside > 0) this.overlapped = true;
      this.given.push(handle);
      return handle;
    } finally {
      this.pending -= 1;
      this.besides -= beside;
    }
  }

  private forgetEnded(): void {
    this.given = this.given.filter((handle) => handle.isHeld);
    if (this.given.length === 0 && this.pending === 0) this.overlapped = false;
  }

  private notHeld(why: string): LockNotHeldError {
    return new LockNotHeldError(`this Lock object of '${this.key}' cannot unlock: ${why}`, { key: this.key });
  }
}

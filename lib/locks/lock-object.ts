import type { Duration } from '../common/duration.js';
import { LockNotHeldError } from '../errors/index.js';
import type { AcquireOptions } from './acquire-options.js';
import { refuseUnknownOptions } from './option-readers.js';
import type { LockHandle } from './lock-handle.js';
import type { LockHolderInfo, LockInfo } from './lock-info.js';
import type { Lock, LockCallOptions } from './lock.js';

/** What a `Lock` object asks of the service. */
export interface LockObjectService {
  acquire(keys: readonly string[], options: AcquireOptions): Promise<LockHandle>;
  tryAcquire(keys: readonly string[], options: AcquireOptions): Promise<LockHandle | null>;
  forceRelease(key: string): Promise<boolean>;
  inspect(key: string): Promise<LockInfo | null>;
  /** The innermost handle of the keys in the scopes around the caller. */
  inScope(keys: readonly string[], type: LockHandle['type']): LockHandle | undefined;
  /** The handles of an owner in this client, the latest last. */
  ofOwner(keys: readonly string[], owner: string): LockHandle[];
}

/** What a `Lock` object locks, and how. */
export interface LockObjectTerms {
  readonly keys: readonly string[];
  readonly type: 'exclusive' | 'read';
  readonly fair: boolean;
  readonly owner: string | undefined;
  readonly pattern: string | undefined;
}

const CALL_OPTIONS = [
  'expire',
  'maxRenewTimes',
  'waitTimeout',
  'signal',
  'reentrant',
  'holdAtLeast',
  'replicas',
  'onLost',
] satisfies Array<keyof LockCallOptions>;

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

  private readonly keys: readonly string[];
  private readonly owner: string | undefined;
  private readonly type: LockObjectTerms['type'];
  /** What each call asks for. */
  private readonly asked: Pick<AcquireOptions, 'type' | 'fair' | 'owner' | 'pattern'>;

  constructor(
    private readonly service: LockObjectService,
    { keys, ...asked }: LockObjectTerms,
  ) {
    this.keys = keys;
    this.asked = asked;
    ({ owner: this.owner, type: this.type } = asked);
  }

  get key(): string {
    return this.keys[0]!;
  }

  async lock(options: LockCallOptions = {}): Promise<LockHandle> {
    refuseUnknownOptions('lock', options, CALL_OPTIONS);
    return this.remember(this.service.acquire(this.keys, { ...options, ...this.asked }));
  }

  tryLock(waitTime: Duration = 0, leaseTime: Duration = 0): Promise<LockHandle | null> {
    const options = { waitTimeout: waitTime, expire: leaseTime, ...this.asked };
    return this.remember(this.service.tryAcquire(this.keys, options));
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
    const released = await Promise.all(this.keys.map((key) => this.service.forceRelease(key)));
    // Their holds hear of it later than this caller.
    this.given = this.given.filter((handle) => !ended.has(handle));
    return released.includes(true);
  }

  async isLocked(): Promise<boolean> {
    return (await this.holders()).every((holders) => holders.length > 0);
  }

  isHeldByCurrentContext(): boolean {
    return this.latest() !== undefined;
  }

  async isHeldBy(owner: string): Promise<boolean> {
    const heldByOwner = (holder: LockHolderInfo): boolean => holder.owner === owner && !holder.kept;
    return (await this.holders()).every((holders) => holders.some(heldByOwner));
  }

  getHoldCount(): number {
    return this.latest()?.holdCount ?? 0;
  }

  async remainTimeToLive(): Promise<number> {
    const ends = (await this.holders()).map((holders) => Math.max(-2, ...holders.map(({ ttl }) => ttl)));
    return Math.min(...ends);
  }

  /** Those who hold each key in the way of this object. */
  private async holders(): Promise<LockHolderInfo[][]> {
    const infos = await Promise.all(this.keys.map((key) => this.service.inspect(key)));
    return infos.map((info) => info?.holders.filter(({ type }) => type === this.type) ?? []);
  }

  /** What `unlock()` would release. */
  private latest(): LockHandle | undefined {
    if (this.owner !== undefined)
      return this.service
        .ofOwner(this.keys, this.owner)
        .filter(({ type }) => type === this.type)
        .at(-1);
    this.forgetEnded();
    return this.given.at(-1) ?? this.service.inScope(this.keys, this.type);
  }

  /**
   * Keeps what a call through this object takes, and sees whether another one is on its way or has not released yet. A
   * call that answers `null` changes nothing: its caller knows that it has no lock. One that throws may be followed by
   * the `unlock()` of a careless `finally`, which would free what another caller holds.
   */
  private async remember<T extends LockHandle | null>(acquisition: Promise<T>): Promise<T> {
    if (this.owner !== undefined) return acquisition;
    this.forgetEnded();
    const reenters = this.service.inScope(this.keys, this.type) !== undefined;
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
    } catch (error) {
      if (beside > 0) this.overlapped = true;
      throw error;
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
    return new LockNotHeldError(`this Lock object of '${this.keys.join("', '")}' cannot unlock: ${why}`, {
      key: this.key,
    });
  }
}

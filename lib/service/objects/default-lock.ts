import type { Duration } from '../../common/duration.js';
import { LockConfigError, LockNotHeldError } from '../../errors/index.js';
import type { AcquireOptions } from '../../options/acquire-options.js';
import { refuseUnknownOptions } from '../../options/option-readers.js';
import { optionNames } from '../../options/option-table.js';
import type { LockHandle } from '../handles/lock-handle.js';
import type { LockHolderInfo, LockInfo } from '../lock-info.js';
import { currentScope, type LockScope } from '../lock-scope.js';
import type { Lock, LockCallOptions } from './lock.js';
import type { OwnHandle } from '../handles/own-handle.js';
import { TakenLocks } from './taken-locks.js';

/** What a `Lock` object asks of the service. */
export interface LockObjectService {
  acquire(keys: readonly string[], options: AcquireOptions): Promise<OwnHandle>;
  tryAcquire(keys: readonly string[], options: AcquireOptions): Promise<OwnHandle | null>;
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

/** What is told of a lock that is not renewed any more, since its `unlock()` cannot be told from that of another call. */
const OVERLAPPED =
  'was taken through a Lock object that overlapping calls share, so nobody can tell whose unlock() is meant';

/**
 * The `RLock` shape over the service. What `unlock()` means is what was taken through this object in the same context: by the
 * same owner, within the same scope (the innermost locked method, `run` or request), or outside of all of these. There, and
 * between calls of one context, nothing tells one call from another: a call that could not be granted or unlocked on its own
 * is refused when it begins.
 */
export class DefaultLock implements Lock {
  /** What was taken outside of any scope. */
  private readonly outside = new TakenLocks();

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
    refuseUnknownOptions('lock', options, optionNames('lock'));
    return this.take(true, options.reentrant !== false, () =>
      this.service.acquire(this.keys, { ...options, ...this.asked }),
    );
  }

  async tryLock(waitTime: Duration = 0, leaseTime: Duration = 0): Promise<LockHandle | null> {
    const options = { waitTimeout: waitTime, expire: leaseTime, ...this.asked };
    return this.take(waitTime !== 0, true, () => this.service.tryAcquire(this.keys, options));
  }

  async unlock(): Promise<void> {
    const handle = this.latest();
    if (handle === undefined) throw this.unlockRefused();
    if (!(await handle.release())) throw this.notHeld('the lock had been lost');
  }

  async forceUnlock(): Promise<boolean> {
    const taken = this.takenHere(currentScope());
    const ended = taken.held();
    const released = await Promise.all(this.keys.map((key) => this.service.forceRelease(key)));
    // Their holds hear of it later than this caller.
    taken.forget(ended);
    return released.includes(true);
  }

  async isLocked(): Promise<boolean> {
    return (await this.holders()).every((holders) => holders.length > 0);
  }

  isHeldByCurrentContext(): boolean {
    const held = this.heldHere() !== undefined;
    // Whoever is told that it holds nothing does not unlock, and it may be the one that does.
    if (!held && this.owner === undefined) this.takenHere(currentScope()).abandon(OVERLAPPED);
    return held;
  }

  async isHeldBy(owner: string): Promise<boolean> {
    const heldByOwner = (holder: LockHolderInfo): boolean => holder.owner === owner && !holder.kept;
    return (await this.holders()).every((holders) => holders.some(heldByOwner));
  }

  getHoldCount(): number {
    return this.heldHere()?.holdCount ?? 0;
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
    if (this.owner === undefined) return this.takenHere(currentScope()).latest;
    return this.service
      .ofOwner(this.keys, this.owner)
      .filter(({ type }) => type === this.type)
      .at(-1);
  }

  /** By what the context of the caller holds the lock: what it took through this object, or the lock of its scope. */
  private heldHere(): LockHandle | undefined {
    return this.latest() ?? (this.owner === undefined ? this.service.inScope(this.keys, this.type) : undefined);
  }

  private takenHere(scope: LockScope | undefined): TakenLocks {
    return scope === undefined ? this.outside : scope.takenThrough(this);
  }

  /** @throws LockConfigError where another call of the context has the lock, and this one would not wait for it */
  private async take<T extends OwnHandle | null>(
    waits: boolean,
    reentrant: boolean,
    acquire: () => Promise<T>,
  ): Promise<T> {
    if (this.owner !== undefined) return acquire();
    const scope = currentScope();
    const taken = this.takenHere(scope);
    const inUse = (): LockConfigError => this.inUse(scope);
    const reenters = reentrant && this.service.inScope(this.keys, this.type) !== undefined;
    const isToldApart = reenters || (scope !== undefined && waits && this.type === 'exclusive');
    if (!isToldApart && taken.isInUse) {
      taken.gotNothing();
      throw inUse();
    }
    return taken.take(acquire, inUse);
  }

  private inUse(scope: LockScope | undefined): LockConfigError {
    const where =
      scope === undefined ? 'outside of any request or scope' : `of one ${scope.request ? 'request' : 'scope'}`;
    return new LockConfigError(
      `this Lock object of ${this.named} is in use by another call, and calls ${where} cannot be told apart when they unlock: ` +
        'get an object for each call, write run(key, task) or @DistributedLock, or acquire(key) and release its handle.',
      { key: this.key },
    );
  }

  private unlockRefused(): LockNotHeldError {
    const taken = this.takenHere(currentScope());
    if (this.owner === undefined && taken.isHeld) {
      taken.abandon(OVERLAPPED);
      taken.refused();
      return this.notHeld(
        'calls through it overlapped, so this may be the unlock() of another one (shared Lock object: release the handle ' +
          'that lock() returned). The lock stays held until its handle is released or its lease ends',
      );
    }
    const cause = taken.refused();
    if (cause === 'lost') return this.notHeld('the lock had been lost');
    if (this.owner === undefined && this.service.inScope(this.keys, this.type) !== undefined) {
      return this.notHeld('it is held by the scope of this call, which releases it when it ends');
    }
    // What was taken outside of all scopes has no other end than its unlock(), and this may have been it.
    if (cause === undefined && this.outside.isHeld) {
      this.outside.abandon(
        'was taken through a Lock object outside of any request or scope, and unlock() was called within one',
      );
      return this.notHeld(
        'nothing is held by this scope, and what was taken outside of it is not renewed any more: ' +
          'unlock in the context that locked, or release the handle that lock() returned',
      );
    }
    return this.notHeld('nothing is held by this scope or through this object');
  }

  private notHeld(why: string): LockNotHeldError {
    return new LockNotHeldError(`this Lock object of ${this.named} cannot unlock: ${why}`, { key: this.key });
  }

  private get named(): string {
    return `'${this.keys.join("', '")}'`;
  }
}

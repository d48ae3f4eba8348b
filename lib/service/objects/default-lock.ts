import { inspect, type InspectOptions } from 'node:util';
import { namesOfKeys } from '../../common/describe.js';
import type { Duration } from '../../common/duration.js';
import type { Hold } from '../../engine/hold.js';
import type { HoldSurvey, LockEngine } from '../../engine/lock-engine.js';
import { LockConfigError, LockNotHeldError } from '../../errors/index.js';
import type { AcquireOptions, LockKind } from '../../options/acquire-options.js';
import { OPTIONS, tryOptions } from '../../options/option-table.js';
import type { LockHandle } from '../handles/lock-handle.js';
import { currentScope, type LockScope } from '../lock-scope.js';
import type { LockObject, LockCallOptions } from './lock.js';
import type { Acquirer } from '../acquirer.js';
import type { HeldLock } from '../handles/held-lock.js';
import { TakenLocks } from './taken-locks.js';

/** The keys of a lock object, and how it locks them. */
export interface LockObjectTerms {
  readonly keys: readonly string[];
  /** `write`: it is the write lock of a read-write lock, for a store that makes a difference. */
  readonly kind: LockKind;
  readonly fair: boolean;
  readonly owner: string | undefined;
  readonly pattern: string | undefined;
}

/** The time to live of a lock that is not held. */
const NOT_HELD = -2;

/** Why a lock is not renewed any more: its `unlock()` may be that of another call. Follows the key in the log. */
const OVERLAPPED =
  'was acquired through a Lock object that overlapping calls share, so it is not known which call unlock() belongs to';

/**
 * The `RLock` shape over the service. `unlock()` releases what was acquired through this object in the same context: by the
 * same owner, in the same scope (the innermost locked method, `run` or request), or outside all scopes. Calls of one context,
 * and calls outside all scopes, cannot be distinguished. So a call that could not be granted or unlocked on its own is refused
 * when it begins.
 */
export class DefaultLock implements LockObject {
  /** What was acquired outside all scopes. */
  private readonly outside: TakenLocks;
  /** What was acquired in a scope, and not in an inner one. */
  private readonly inside = new WeakMap<LockScope, TakenLocks>();
  private readonly keys: readonly string[];
  private readonly owner: string | undefined;
  private readonly kind: 'exclusive' | 'read';
  /** The options of each call. */
  private readonly asked: Pick<AcquireOptions, 'kind' | 'fair' | 'owner' | 'pattern'>;

  constructor(
    private readonly acquirer: Pick<Acquirer, 'acquire' | 'tryAcquire' | 'inScope' | 'owners'>,
    private readonly engine: LockEngine,
    /** The lease in ms of locks that are renewed. */
    private readonly lease: number,
    { keys, ...asked }: LockObjectTerms,
  ) {
    this.keys = keys;
    this.asked = asked;
    this.owner = asked.owner;
    this.kind = asked.kind === 'read' ? 'read' : 'exclusive';
    this.outside = new TakenLocks(lease);
  }

  get key(): string {
    return this.keys[0]!;
  }

  async lock(options: LockCallOptions = {}): Promise<LockHandle> {
    OPTIONS.lock.check('lock', options);
    return this.take(true, options.reentrant !== false, () =>
      this.acquirer.acquire(this.keys, { ...options, ...this.asked }),
    );
  }

  async tryLock(wait: Duration | LockCallOptions = 0, expire?: Duration): Promise<LockHandle | null> {
    const options = tryOptions('tryLock', 'lock', wait, expire);
    const { waitTimeout = 0, reentrant } = options;
    return this.take(waitTimeout !== 0, reentrant !== false, () =>
      this.acquirer.tryAcquire(this.keys, { ...options, ...this.asked }),
    );
  }

  async unlock(): Promise<void> {
    const handle = this.latest();
    if (handle === undefined) throw this.unlockRefused();
    if (!(await handle.release())) throw this.notHeld('the lock had been lost');
  }

  async forceUnlock(): Promise<boolean> {
    const released = this.takenHere(currentScope()).forceReleasing();
    const results = await Promise.all(this.keys.map((key) => this.engine.forceRelease(key)));
    // The message to their holds may arrive later than this reply.
    released();
    return results.some(({ holds }) => holds > 0);
  }

  async isLocked(): Promise<boolean> {
    return (await this.survey()).every(({ ttl }) => ttl !== NOT_HELD);
  }

  isHeldByCurrentContext(): boolean {
    const held = (this.latest() ?? this.ofScope()) !== undefined;
    // A caller that gets `false` does not unlock, and it may be the holder.
    if (!held && this.owner === undefined) this.takenHere(currentScope()).abandon(OVERLAPPED);
    return held;
  }

  async isHeldBy(owner: string): Promise<boolean> {
    return (await this.survey(owner)).every(({ isOwned }) => isOwned);
  }

  getHoldCount(): number {
    const own = this.latest();
    if (own !== undefined) return own.holdCount;
    const counts = this.ofScope()?.map((hold) => this.engine.grants.countOf(hold));
    return counts === undefined ? 0 : Math.min(...counts);
  }

  async remainTimeToLive(): Promise<number> {
    return Math.min(...(await this.survey()).map(({ ttl }) => ttl));
  }

  /** What a log shows: not the engine. */
  toJSON(): object {
    const { key, keys, kind, owner } = this;
    return { ...(keys.length === 1 ? { key } : { keys }), kind, ...(owner === undefined ? {} : { owner }) };
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `Lock ${inspect(this.toJSON(), options)}`;
  }

  /** Asks about the holders of each key in the mode of this object. */
  private survey(owner?: string): Promise<HoldSurvey[]> {
    return Promise.all(this.keys.map((key) => this.engine.survey({ key, kind: this.kind, owner })));
  }

  /** The handle that `unlock()` would release. */
  private latest(): LockHandle | undefined {
    if (this.owner === undefined) return this.takenHere(currentScope()).latest;
    const held = this.acquirer.owners.of(this.keys, this.owner);
    return held.filter(({ kind }) => kind === this.kind).at(-1);
  }

  /** The holds by which the scope of the caller holds the lock. */
  private ofScope(): readonly Hold[] | undefined {
    return this.owner === undefined ? this.acquirer.inScope(this.keys, this.kind) : undefined;
  }

  private takenHere(scope: LockScope | undefined): TakenLocks {
    if (scope === undefined) return this.outside;
    let taken = this.inside.get(scope);
    if (taken === undefined) this.inside.set(scope, (taken = new TakenLocks(this.lease)));
    return taken;
  }

  /** @throws LockConfigError if another call of the context holds the lock, and this call would not wait for it */
  private async take<T extends HeldLock | null>(
    waits: boolean,
    reentrant: boolean,
    request: () => Promise<T>,
  ): Promise<T> {
    const acquire = (): Promise<T> => request().then((handle) => this.endingAsOne(handle));
    if (this.owner !== undefined) return acquire();
    const scope = currentScope();
    const taken = this.takenHere(scope);
    const inUse = (): LockConfigError => this.inUse(scope);
    const reenters = reentrant && this.ofScope() !== undefined;
    const isToldApart = reenters || (scope !== undefined && waits && this.kind === 'exclusive');
    if (!isToldApart && taken.isInUse) {
      taken.gotNothing();
      throw inUse();
    }
    const handle = await taken.take(acquire, inUse);
    if (handle !== null) scope?.add(handle);
    return handle;
  }

  /** If one of several keys is lost, `unlock()` is refused. So the others must not stay held. */
  private endingAsOne<T extends HeldLock | null>(handle: T): T {
    if (this.keys.length > 1)
      handle?.onLost(({ key }, lost) =>
        (lost as HeldLock).abandon(`was acquired together with '${key}', which was lost`),
      );
    return handle;
  }

  private inUse(scope: LockScope | undefined): LockConfigError {
    const where =
      scope === undefined ? 'outside of any request or scope' : `of one ${scope.request ? 'request' : 'scope'}`;
    return new LockConfigError(
      `this Lock object of ${namesOfKeys(this.keys)} is in use by another call, and calls ${where} cannot be distinguished when they unlock: ` +
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
    if (this.ofScope() !== undefined) {
      return this.notHeld('it is held by the scope of this call, which releases it when it ends');
    }
    // This may have been the only unlock() of what was acquired in a context around this one.
    const around = cause === undefined ? this.heldAround() : [];
    if (around.length > 0) {
      for (const each of around)
        each.abandon('was acquired through a Lock object, and unlock() was called in an inner scope');
      return this.notHeld(
        'this scope holds nothing, and what was acquired outside it is not renewed any more: ' +
          'unlock in the context that locked, or release the handle that lock() returned',
      );
    }
    return this.notHeld('nothing is held by this scope or through this object');
  }

  /** What this object holds in the contexts around that of the caller. */
  private heldAround(): TakenLocks[] {
    const around: TakenLocks[] = [];
    for (let scope = currentScope(); scope !== undefined; scope = scope.parent)
      around.push(this.takenHere(scope.parent));
    return around.filter(({ isHeld }) => isHeld);
  }

  private notHeld(why: string): LockNotHeldError {
    return new LockNotHeldError(`this Lock object of ${namesOfKeys(this.keys)} cannot unlock: ${why}`, {
      key: this.key,
    });
  }
}

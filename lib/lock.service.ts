import type { Observable } from 'rxjs';
import { describe } from './common/describe.js';
import type { LockEngine } from './engine/lock-engine.js';
import type { LockEvent } from './engine/lock-event.js';
import { isLockTimeoutError, LockConfigError, LockLostError } from './errors/index.js';
import { assertKey } from './keys/index.js';
import type { AcquireOptions, OnContended, OnLost, RunOptions } from './locks/acquire-options.js';
import { HeldLock } from './locks/held-lock.js';
import type { LockHandle } from './locks/lock-handle.js';
import type { LockInfo } from './locks/lock-info.js';
import { readLockInfo } from './locks/read-lock-info.js';
import { LockObject } from './locks/lock-object.js';
import { findInScope, withinScope } from './locks/lock-scope.js';
import type { Lock, LockObjectOptions } from './locks/lock.js';
import { OwnerHandles } from './locks/owner-handles.js';
import { readOwner, resolveAcquireOptions, type AcquireDefaults } from './locks/resolve-acquire-options.js';
import { readChoice, refuseAllButObjects, refuseUnknownOptions } from './locks/option-readers.js';

/** What applies where a call or a decorator does not say otherwise. */
export interface LockServiceDefaults extends AcquireDefaults {
  readonly onLost: OnLost;
  readonly onContended: OnContended;
  /** The `waitTimeout` of methods that name neither one nor an `onContended`: 0 where the default is not to throw. */
  readonly methodWaitTimeout: number;
}

/** What a service is told beside its engine. */
export interface LockServiceOptions {
  readonly name: string;
  readonly defaults: LockServiceDefaults;
  /** ms */
  readonly shutdownTimeout: number;
}

/**
 * Locks, for code that takes them itself. Inject it, or `@InjectLockService(name)` where there are several.
 *
 * ```ts
 * await this.locks.run('import:2026', async (lock) => { … });
 * ```
 */
export class LockService {
  readonly name: string;
  readonly defaults: LockServiceDefaults;
  private readonly owners = new OwnerHandles();

  constructor(
    private readonly engine: LockEngine,
    /** What happens to locks of this service: acquired, contended, released, renewed, lost, timeout. */
    readonly events: Observable<LockEvent>,
    private readonly options: LockServiceOptions,
  ) {
    this.name = options.name;
    this.defaults = options.defaults;
  }

  /**
   * Waits for the lock and takes it. Release the handle, or declare it with `await using`. Inside `run` and decorated
   * methods that hold the key already it costs no round trip and counts up.
   * @throws LockTimeoutError after `waitTimeout` (default 10 s); LockStoreError when Redis fails; the reason of
   * `options.signal` when that aborts; LockKeyError, LockConfigError for a key or an option that cannot be used
   */
  async acquire(key: string, options: AcquireOptions = {}): Promise<LockHandle> {
    return (await this.take(key, options)).guardAgainstDropping();
  }

  /**
   * Takes the lock if it is free, else answers `null`. One try, unless `waitTimeout` is given in this call.
   * @throws as `acquire` does, but for the LockTimeoutError
   */
  async tryAcquire(key: string, options: AcquireOptions = {}): Promise<LockHandle | null> {
    refuseAllButObjects('tryAcquire', options);
    try {
      return await this.acquire(key, { ...options, waitTimeout: options.waitTimeout ?? 0 });
    } catch (error) {
      if (isLockTimeoutError(error)) return null;
      throw error;
    }
  }

  /**
   * Runs `task` while holding the lock. What the task throws is what the caller gets, whatever the release does.
   * @throws as `acquire` does; LockLostError, with the task's value as `result`, when the task ended well but its lock
   * had been lost on the way (see `onLost`)
   */
  async run<T>(key: string, task: (lock: LockHandle) => T | Promise<T>, options: RunOptions = {}): Promise<T> {
    refuseAllButTasks(task, options);
    refuseAllButObjects('run', options);
    const { onLost = this.defaults.onLost, ...acquisition } = options;
    readChoice('onLost', onLost, ['throw', 'ignore']);
    const lock = await this.take(key, acquisition);
    if (typeof onLost === 'function') lock.onLost(onLost);
    let result: T;
    try {
      result = await withinScope(lock, () => task(lock));
    } catch (error) {
      await lock[Symbol.asyncDispose]();
      throw error;
    }
    await lock[Symbol.asyncDispose]();
    if (onLost === 'throw' && lock.loss !== undefined) throw lostOnTheWay(lock.loss, result);
    return result;
  }

  /**
   * The lock in the shape of `java.util.concurrent.locks.Lock` and Redisson's `RLock`. Costs nothing until it is used.
   * @throws LockKeyError, LockConfigError for a key or an owner that cannot be used
   */
  getLock(key: string, options: LockObjectOptions = {}): Lock {
    refuseUnknownOptions('getLock', options, ['owner']);
    return new LockObject(this, assertKey(key), readOwner(options.owner));
  }

  /**
   * What Redis knows of a key: who holds it, who waits. `null`: nobody.
   * @throws LockStoreError when Redis fails
   */
  async inspect(key: string): Promise<LockInfo | null> {
    return readLockInfo(key, await this.engine.inspect(assertKey(key)));
  }

  /**
   * Frees a key, whoever holds it, and gives it to the next who waits. The holder's `signal` aborts as soon as it hears
   * of it; until then both may believe, so fence what must not be touched twice. `true`: it was held.
   * @throws LockStoreError when Redis fails
   */
  async forceRelease(key: string): Promise<boolean> {
    return (await this.engine.forceRelease(assertKey(key))).holds > 0;
  }

  /** @internal Runs `work` within the scope of a handle: what it locks again re-enters, `currentLock()` finds it. */
  within<T>(handle: LockHandle, work: () => T): T {
    return handle instanceof HeldLock ? withinScope(handle, work) : work();
  }

  /** @internal */
  inScope(key: string): HeldLock | undefined {
    return findInScope((lock) => lock.key === key && lock.engine === this.engine && lock.isHeld);
  }

  /** @internal */
  ofOwner(key: string, owner: string): HeldLock[] {
    return this.owners.of(key, owner);
  }

  /**
   * @internal Connects; resolves when waiters can be woken.
   * @throws LockStoreError when that takes longer than `commandTimeout`; connecting goes on all the same
   */
  start(): Promise<void> {
    return this.engine.start();
  }

  /** @internal Refuses new locks, and tells all who wait. */
  stopWaiting(): void {
    this.engine.stopWaiting();
  }

  /** @internal Waits for those who hold a lock, at most `shutdownTimeout`, releases the rest and disconnects. */
  close(): Promise<void> {
    return this.engine.close(this.options.shutdownTimeout);
  }

  private async take(key: string, options: AcquireOptions): Promise<HeldLock> {
    const terms = { ...resolveAcquireOptions(options, this.defaults), key: assertKey(key) };
    const outer = options.reentrant === false ? undefined : this.inScope(key);
    const reenters = outer !== undefined && (terms.owner === undefined || terms.owner === outer.owner);
    terms.signal?.throwIfAborted();
    const lock = reenters ? outer.reenter() : new HeldLock(await this.engine.acquire(terms, terms), this.engine);
    if (options.onLost !== undefined) lock.onLost(options.onLost);
    if (terms.owner !== undefined) this.owners.add(lock);
    return lock;
  }
}

function refuseAllButTasks(task: unknown, options: unknown): void {
  if (typeof task === 'function') return;
  throw new LockConfigError(
    typeof options === 'function'
      ? 'run takes the task before the options: write run(key, task, options).'
      : `run takes a function to run while the lock is held; this is ${describe(task)}: write run(key, async (lock) => { … }).`,
  );
}

function lostOnTheWay(loss: LockLostError, result: unknown): LockLostError {
  const error = new LockLostError(loss.message, { key: loss.key, cause: loss });
  error.result = result;
  return error;
}

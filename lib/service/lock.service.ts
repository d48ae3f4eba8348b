import { inspect, type InspectOptions } from 'node:util';
import type { Observable } from 'rxjs';
import { describe } from '../common/describe.js';
import type { ListReply, ListRequest, LockEngine } from '../engine/lock-engine.js';
import type { LockEvent } from '../engine/lock-event.js';
import { isLockTimeoutError, LockConfigError, LockLostError } from '../errors/index.js';
import { assertKey } from '../keys/index.js';
import type { AcquireOptions, OnContended, OnLost, RunOptions } from '../options/acquire-options.js';
import { DefaultCountDownLatch } from './objects/default-count-down-latch.js';
import type { CountDownLatch } from './objects/count-down-latch.js';
import { Elections } from './objects/elections.js';
import { HeldLock } from './handles/held-lock.js';
import { HeldLocks } from './handles/held-locks.js';
import { DefaultLeaderElection, type ElectionEnvironment } from './objects/default-leader-election.js';
import type { LeaderElection, LeaderElectionOptions } from './objects/leader-election.js';
import type { LockHandle } from './handles/lock-handle.js';
import type { LockHealth, LockHealthOptions } from './lock-health.js';
import type { LockInfo } from './lock-info.js';
import { readLockHealth } from './read-lock-health.js';
import { readLockInfo } from './read-lock-info.js';
import { DefaultLock, type LockObjectService, type LockObjectTerms } from './objects/default-lock.js';
import { LockScope } from './lock-scope.js';
import { Acquirer, NO_OPTIONS, readKeys, refuseWithoutPermits } from './acquirer.js';
import type { Lock, LockObjectOptions, ReadWriteLock } from './objects/lock.js';
import { optionNames, readOptions } from '../options/option-table.js';
import type { AcquireDefaults } from '../options/resolve-acquire-options.js';
import { DefaultSemaphore, type SemaphoreService } from './objects/default-semaphore.js';
import type { Semaphore, SemaphoreOptions } from './objects/semaphore.js';
import { readPermits } from '../options/lock-option-readers.js';
import { readChoice, refuseUnknownOptions } from '../options/option-readers.js';

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
  private readonly taker: Acquirer;
  private readonly elections = new Elections();

  constructor(
    private readonly engine: LockEngine,
    /** What happens to locks of this service: its `type` says what. */
    readonly events: Observable<LockEvent>,
    private readonly options: LockServiceOptions,
  ) {
    this.name = options.name;
    this.defaults = options.defaults;
    this.taker = new Acquirer(engine, options.defaults, options.name);
  }

  /**
   * Waits for the lock and takes it. Release the handle, or declare it with `await using`. Inside `run` and decorated
   * methods that hold the key already it costs no round trip and counts up. Of several keys it takes all or none, in one
   * round trip when all are free, and without a deadlock in whatever order callers name them (a key that is held already
   * is apart from that: whoever takes locks inside of locks sees to their order).
   * @throws LockTimeoutError after `waitTimeout` (default 10 s); LockStoreError when Redis fails; the reason of
   * `options.signal` when that aborts; LockLostError when of several keys one that it had already was lost while it waited
   * for another; LockKeyError, LockConfigError for a key or an option that cannot be used
   */
  acquire(key: string | readonly string[], options: AcquireOptions = NO_OPTIONS): Promise<LockHandle> {
    const again = this.taker.takeAgain(key, options);
    return again === undefined ? this.taker.takeGuarded(key, options) : Promise.resolve(again.guardAgainstDropping());
  }

  /**
   * Takes the lock if it is free, else answers `null`. One try, unless `waitTimeout` is given in this call.
   * @throws as `acquire` does, but for the LockTimeoutError
   */
  async tryAcquire(key: string | readonly string[], options: AcquireOptions = {}): Promise<LockHandle | null> {
    this.taker.check('tryAcquire', options);
    return nullOnTimeout(this.acquire(key, { ...options, waitTimeout: options.waitTimeout ?? 0 }));
  }

  /**
   * Runs `task` while holding the lock. What the task throws is what the caller gets, whatever the release does.
   * @throws as `acquire` does; LockLostError, with the task's value as `result`, when the task ended well but its lock
   * had been lost on the way (see `onLost`)
   */
  run<T>(
    key: string | readonly string[],
    task: (lock: LockHandle) => T | Promise<T>,
    options: RunOptions = NO_OPTIONS,
  ): Promise<T> {
    return this.runWith(key, task, options, 1);
  }

  /**
   * The lock in the shape of `java.util.concurrent.locks.Lock` and Redisson's `RLock`. Costs nothing until it is used.
   * @throws LockKeyError, LockConfigError for a key or an owner that cannot be used
   */
  getLock(key: string, options: LockObjectOptions = {}): Lock {
    return this.lockObject('getLock', [assertKey(key)], EXCLUSIVE, options);
  }

  /** As `getLock`, served strictly in the order in which all clients came. */
  getFairLock(key: string, options: LockObjectOptions = {}): Lock {
    return this.lockObject('getFairLock', [assertKey(key)], { ...EXCLUSIVE, fair: true }, options);
  }

  /**
   * A lock that many may hold for reading, or one for writing. Who comes is served in order: readers together, up to the
   * next writer. Inside `run`, or with an `owner`, the writer may read, too, and go on reading when it has stopped writing
   * (downgrade), and a reader that wants to write gets an error instead of a deadlock. The write lock of a key is its
   * exclusive lock.
   */
  getReadWriteLock(key: string, options: LockObjectOptions = {}): ReadWriteLock {
    const keys = [assertKey(key)];
    const readLock = this.lockObject('getReadWriteLock', keys, { ...EXCLUSIVE, type: 'read' }, options);
    const writeLock = this.lockObject('getReadWriteLock', keys, EXCLUSIVE, options);
    return { readLock: () => readLock, writeLock: () => writeLock };
  }

  /** Several locks as one: all are held, or none. */
  getMultiLock(keys: readonly string[], options: LockObjectOptions = {}): Lock {
    if (!Array.isArray(keys))
      throw new LockConfigError("getMultiLock takes a list of keys: write getMultiLock(['a', 'b']).");
    return this.lockObject('getMultiLock', readKeys(keys), EXCLUSIVE, options);
  }

  /**
   * At most `permits` at a time, on all machines.
   * @throws LockKeyError, LockConfigError for a key or a number of permits that cannot be used, and on a store that cannot
   * count them (Redlock)
   */
  getSemaphore(key: string, options: SemaphoreOptions): Semaphore {
    refuseUnknownOptions('getSemaphore', options, optionNames('getSemaphore'));
    refuseWithoutPermits(this.engine);
    const service: SemaphoreService = {
      acquire: (name, terms, units) => this.taker.takeGuarded(name, terms, units),
      tryAcquire: (name, terms, units) => nullOnTimeout(service.acquire(name, terms, units)),
      run: (name, task, terms, units) => this.runWith(name, task, terms, units),
      inspect: (name) => this.engine.inspect(name),
      setPermits: (name, permits) => this.engine.setLimit(name, permits),
    };
    const { permits = readPermits('permits', undefined), pattern } = readOptions('getSemaphore', options);
    return new DefaultSemaphore(service, assertKey(key), { permits, pattern });
  }

  /**
   * A door that opens when as many parts of a work are done as were counted, in whatever processes.
   * @throws LockKeyError for a key that cannot be used; LockConfigError on a store that keeps no latches (Redlock)
   */
  getCountDownLatch(key: string): CountDownLatch {
    const { latches } = this.engine;
    if (latches === undefined) {
      throw new LockConfigError(
        'Count-down latches need one Redis that counts, and here the locks are kept by several independent ones (Redlock): ' +
          'set up a second instance on one of them, RedisLockModule.forRoot({ name, connection }), and get the latch from that.',
      );
    }
    return new DefaultCountDownLatch(latches, assertKey(key), this.defaults, this.taker.warnings);
  }

  /**
   * One leader among all processes that stand for the same key. Nothing happens before `start()`.
   * @throws LockKeyError, LockConfigError for a key or an option that cannot be used
   */
  getLeaderElection(key: string, options: LeaderElectionOptions = {}): LeaderElection {
    const { clock, agenda, random, logger, commandTimeout } = this.engine;
    const environment: ElectionEnvironment = {
      ...{ clock, agenda, random, logger, commandTimeout },
      acquire: (name, terms) => this.acquire(name, terms),
      begun: (election) => this.elections.begun(election),
      ended: (election) => this.elections.ended(election),
    };
    return new DefaultLeaderElection(environment, assertKey(key), options);
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
   * of it; until then both may believe, so fence what must not be touched twice. `true`: it was held. Only holds that the
   * call has found are ended: one that is granted later stays, whatever the network repeats or delays.
   * @throws LockStoreError when Redis fails: the key may have been freed all the same
   */
  async forceRelease(key: string): Promise<boolean> {
    return (await this.engine.forceRelease(assertKey(key))).holds > 0;
  }

  /**
   * How these locks are: whether Redis answers, messages are heard, and renewals are in time. Never rejects for what it
   * finds. For Terminus there is an indicator, `nestjs-redis-locks/health`.
   * @throws LockConfigError for an option that cannot be used
   */
  async health(options: LockHealthOptions = {}): Promise<LockHealth> {
    return readLockHealth(this.engine, options);
  }

  /** @internal The id of this client: that of all its acquisitions begins with it. */
  get clientId(): string {
    return this.engine.store.clientId;
  }

  /**
   * @internal Lists the keys that are held, a part at a time.
   * @throws LockStoreError when Redis fails; LockConfigError for a store that cannot list
   */
  list(request: ListRequest): Promise<ListReply> {
    return this.engine.list(request);
  }

  /** @internal Runs `work` within the scope of a handle: what it locks again re-enters, `currentLock()` finds it. */
  within<T>(handle: LockHandle, work: () => T): T {
    return handle instanceof HeldLock || handle instanceof HeldLocks ? LockScope.ofLock(handle).run(work) : work();
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
    this.elections.stopAll();
    this.engine.stopWaiting();
  }

  /** @internal Waits for those who hold a lock, at most `shutdownTimeout`, releases the rest and disconnects. */
  close(): Promise<void> {
    this.stopWaiting();
    return this.engine.close(this.options.shutdownTimeout);
  }

  /** @internal What a log shows of it. */
  toJSON(): { name: string; client: string } {
    return { name: this.name, client: this.clientId };
  }

  /** @internal */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `LockService ${inspect(this.toJSON(), options)}`;
  }

  private async runWith<T>(
    key: string | readonly string[],
    task: (lock: LockHandle) => T | Promise<T>,
    options: RunOptions,
    units: number,
  ): Promise<T> {
    refuseAllButTasks(task, options);
    this.taker.check('run', options);
    const { onLost = this.defaults.onLost } = options;
    if (onLost !== 'throw') readChoice('onLost', onLost, ['throw', 'ignore']);
    const acquisition = withoutOnLost(options);
    const lock = this.taker.takeAgain(key, acquisition) ?? (await this.taker.take(key, acquisition, units));
    if (typeof onLost === 'function') lock.onLost(onLost);
    const scope = LockScope.ofLock(lock);
    let result: T;
    try {
      result = await scope.run(() => task(lock));
    } catch (error) {
      scope.end();
      if (!lock.releaseShare()) await lock[Symbol.asyncDispose]();
      throw error;
    }
    scope.end();
    if (!lock.releaseShare()) await lock[Symbol.asyncDispose]();
    if (onLost === 'throw' && lock.loss !== undefined) throw lostOnTheWay(lock.loss, result);
    return result;
  }

  private lockObject(
    label: string,
    keys: readonly string[],
    { type, fair }: Pick<LockObjectTerms, 'type' | 'fair'>,
    options: LockObjectOptions,
  ): Lock {
    refuseUnknownOptions(label, options, optionNames('getLock'));
    const service: LockObjectService = {
      acquire: (names, terms) => this.taker.takeGuarded(names, terms),
      tryAcquire: (names, terms) => nullOnTimeout(this.taker.takeGuarded(names, terms)),
      forceRelease: (key) => this.forceRelease(key),
      inspect: (key) => this.inspect(key),
      inScope: (names, held) => this.taker.inScope(names, held),
      ofOwner: (names, owner) => this.taker.owners.of(names, owner),
    };
    const { owner, pattern } = readOptions('getLock', options);
    return new DefaultLock(service, { keys, type, fair, owner, pattern });
  }
}

/** All is written down: what is left out would be looked for in `Object.prototype`. */
const EXCLUSIVE: Pick<LockObjectTerms, 'type' | 'fair'> = Object.freeze({ type: 'exclusive', fair: false });

/** What `run` does about a loss is its own matter, and not that of an acquisition. */
function withoutOnLost(options: RunOptions): AcquireOptions {
  if (options.onLost === undefined && !Object.hasOwn(options, 'onLost')) return options as AcquireOptions;
  const { onLost: _, ...acquisition } = options;
  return acquisition;
}

async function nullOnTimeout<T extends LockHandle>(acquisition: Promise<T>): Promise<T | null> {
  try {
    return await acquisition;
  } catch (error) {
    if (isLockTimeoutError(error)) return null;
    throw error;
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

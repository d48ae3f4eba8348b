import { inspect, type InspectOptions } from 'node:util';
import type { Observable } from 'rxjs';
import type { EngineContext } from '../engine/engine-context.js';
import type { ListReply, ListRequest, LockEngine } from '../engine/lock-engine.js';
import type { LockEvent } from '../engine/lock-event.js';
import { LONGEST_TIMER } from '../common/clock.js';
import { describe } from '../common/describe.js';
import { isGenerator, isObservable, isThenable } from '../common/type-guards.js';
import { LockConfigError, LockLostError } from '../errors/index.js';
import { assertKey } from '../keys/index.js';
import { answerReadings } from '../observation/diagnostics/readings.js';
import type { AcquireOptions, AdoptOptions, LockKind, RunOptions } from '../options/acquire-options.js';
import { DefaultCountDownLatch } from './objects/default-count-down-latch.js';
import type { CountDownLatch } from './objects/count-down-latch.js';
import { HeldLock } from './handles/held-lock.js';
import { DefaultLeaderElection, Elections } from './objects/default-leader-election.js';
import type { LeaderElection, LeaderElectionOptions } from './objects/leader-election.js';
import type { LockHandle } from './handles/lock-handle.js';
import { heldLocks, type LockListOptions } from './list-locks.js';
import type { LockState } from './lock-state.js';
import { readInstance, readLockHealth, type LockHealth, type LockHealthOptions } from './lock-health.js';
import { inspectKey } from './read-lock-state.js';
import { DefaultLock } from './objects/default-lock.js';
import { LockScope } from './lock-scope.js';
import { Acquirer, NO_OPTIONS, readKeys } from './acquirer.js';
import { refuseFeature } from './refused-features.js';
import type { LockObject, LockObjectOptions, ReadWriteLock } from './objects/lock.js';
import type { CallContext, CallDefaults } from '../options/resolve-acquire-options.js';
import { OPTIONS } from '../options/option-table.js';
import { DefaultSemaphore } from './objects/default-semaphore.js';
import type { Semaphore, SemaphoreOptions } from './objects/semaphore.js';

/** What a service needs of the options of the module. */
export interface LockServiceOptions {
  readonly instance: string;
  readonly defaults: CallDefaults;
  /** ms */
  readonly shutdownTimeout: number;
  /** ms; Infinity: without limit. */
  readonly drainTimeout: number;
}

/** Options of `LockService.forceRelease`. */
export interface ForceReleaseOptions {
  /**
   * The `id` of the hold to end, as `inspect` and `list` return it, or several of them. All other holds of the key stay. The
   * callers of one process that get a lock by local handoffs share an id.
   * @defaultValue all holds of the key
   */
  hold?: string | readonly string[] | undefined;
  /**
   * Who releases the lock, such as `'ann@bastion'`. Its holders find it in their log, in the event `lost` and in
   * `LockLostError.forcedBy`.
   * @defaultValue the `label` of this client
   */
  by?: string | undefined;
}

/** The error if Nest constructs the class itself, which has no parts then. */
const WITHOUT_MODULE =
  'a LockService is provided by RedisLockModule.forRoot(), or returned by createLockClient(): leave it out of providers, and ' +
  'inject it where you would extend it.';

/** So often a shutdown that waits for open requests logs the locks that are held, in ms. */
const DRAIN_REPORTS = 5_000;

/**
 * Acquires locks in code. Inject it, or `@InjectLockService(name)` if there are several.
 *
 * ```ts
 * await this.locks.run('import:2026', async (lock) => { … });
 * ```
 */
export class LockService {
  readonly instance: string;
  /** @internal */
  readonly defaults: CallDefaults;
  /** The id of this client, by which `inspect`, events and the logs of other processes name it. It is new after each start. */
  readonly clientId: string;
  /** The `label` of this client, which `inspect` shows beside its id. */
  readonly label: string;
  private readonly acquirer: Acquirer;
  private readonly elections = new Elections();
  private stopReadings: (() => void) | undefined;
  private keeper: NodeJS.Timeout | undefined;
  private draining: NodeJS.Timeout | undefined;
  private drained: NodeJS.Timeout | undefined;
  private closed: Promise<void> | undefined;

  /** @hidden `RedisLockModule` and `createLockClient` call it. */
  constructor(
    private readonly engine: LockEngine,
    private readonly context: EngineContext,
    /** Emits an event for each change of a lock of this service; `type` names the change. */
    readonly events: Observable<LockEvent>,
    private readonly options: LockServiceOptions,
  ) {
    if (options === undefined) throw new LockConfigError(WITHOUT_MODULE);
    this.instance = options.instance;
    this.defaults = options.defaults;
    this.clientId = engine.clientId;
    this.label = context.identity.label;
    this.acquirer = new Acquirer(engine, context, options.defaults, options.instance);
  }

  /**
   * Waits for the lock and acquires it. Release the handle, or declare it with `await using`. Inside `run` and
   * decorated methods that hold the key already, it re-enters the lock without a round trip. With several keys it
   * acquires all or none: in one round trip if all are free. Callers may name the keys in any order without a deadlock.
   * Nested calls can deadlock, unless all callers nest them in the same order.
   * @throws LockTimeoutError after `waitTimeout` (default 10 s); LockStoreError if Redis fails; the reason of
   *   `options.signal` if that aborts; LockLostError if one of several keys is lost while the call waits for another;
   *   LockKeyError, LockConfigError for a key or an option that cannot be used
   */
  acquire(key: string | readonly string[], options: AcquireOptions = NO_OPTIONS): Promise<LockHandle> {
    return this.acquirer.acquire(key, options);
  }

  /**
   * Acquires the lock if it is free; otherwise resolves to `null`. One try, unless this call gives a `waitTimeout`.
   * @throws as `acquire` does, except LockTimeoutError
   */
  tryAcquire(key: string | readonly string[], options: AcquireOptions = NO_OPTIONS): Promise<LockHandle | null> {
    return this.acquirer.tryAcquire(key, options);
  }

  /**
   * Runs `task` while holding the lock. The caller gets what the task throws, whatever the release does.
   * @throws as `acquire` does; LockLostError, with the value of the task as `result`, if the task succeeded but its lock was
   * lost meanwhile (see `onLost`)
   */
  run<T>(key: string | readonly string[], task: (lock: LockHandle) => T | Promise<T>, options?: RunOptions): Promise<T>;
  /** @internal `context`: what a decorator or a semaphore, which has checked the keys, knows of the call. */
  run<T>(
    key: string | readonly string[],
    task: (lock: LockHandle) => T | Promise<T>,
    options: RunOptions,
    // eslint-disable-next-line @typescript-eslint/unified-signatures -- the published types have only the first one
    context: CallContext,
  ): Promise<T>;
  async run<T>(
    key: string | readonly string[],
    task: (lock: LockHandle) => T | Promise<T>,
    options: RunOptions = NO_OPTIONS,
    context?: CallContext,
  ): Promise<T> {
    const { acquirer } = this;
    // The task of a locked method calls it.
    if (context?.method === undefined && (typeof task !== 'function' || isGenerator(task)))
      throw notATask(task, options);
    const call = acquirer.runCalls.read(options, context);
    const taken = acquirer.take(context === undefined ? readKeys(key) : key, call);
    const lock = isThenable(taken) ? await taken : taken;
    const scope = LockScope.ofLock(lock);
    let result: T;
    try {
      result = await scope.run(() => begun(task(lock)));
    } finally {
      scope.end();
      if (call.release === 'background') lock.releaseInBackground();
      else if (isThenable(lock.releaseOnce('release'))) await lock[Symbol.asyncDispose]();
    }
    if (call.onLost !== 'ignore' && lock.loss !== undefined) throw lostDuringTask(lock.loss, result);
    refuseLazy(result, lock, context?.method);
    return result;
  }

  /**
   * Takes over the lock that another process has handed over (`handOver` of its handle), and returns a new handle with a
   * larger fencing token. The lock keeps its kind. Of several processes that have the text, one succeeds. After a
   * `LockStoreError` call it again in this process: the second call repeats the first. It does not wait for `replicas`.
   * @throws LockNotHeldError if the lock was already adopted, the handover has expired, or the lock was released by
   *   force; LockStoreError if Redis fails; LockConfigError for another text, or an option that cannot be used
   */
  adopt(text: string, options: AdoptOptions = NO_OPTIONS): Promise<LockHandle> {
    return this.acquirer.adopt(text, options);
  }

  /**
   * Returns the lock in the shape of `java.util.concurrent.locks.Lock` and Redisson's `RLock`. Sends nothing until it is
   * used.
   * @throws LockKeyError, LockConfigError for a key or an owner that cannot be used
   */
  getLock(key: string, options: LockObjectOptions = {}): LockObject {
    return this.lockObject('getLock', [assertKey(key)], 'exclusive', options);
  }

  /** Like `getLock`, but serves callers of all clients in order of arrival. */
  getFairLock(key: string, options: LockObjectOptions = {}): LockObject {
    refuseFeature(this.engine, 'fair');
    return this.lockObject('getFairLock', [assertKey(key)], 'exclusive', options, true);
  }

  /**
   * Returns a read-write lock: many readers may hold it at a time, or one writer. Callers are served in order: readers
   * together, up to the next writer. Inside `run`, or with an `owner`, the writer may also read, and continue to read
   * after it has released the write lock (downgrade). A reader that requests the write lock gets an error instead of a
   * deadlock. The write lock of a key is its exclusive lock.
   */
  getReadWriteLock(key: string, options: LockObjectOptions = {}): ReadWriteLock {
    const keys = [assertKey(key)];
    const readLock = this.lockObject('getReadWriteLock', keys, 'read', options);
    const writeLock = this.lockObject('getReadWriteLock', keys, 'write', options);
    return { readLock: () => readLock, writeLock: () => writeLock };
  }

  /** Returns one lock over several keys: all of them are held, or none. */
  getMultiLock(keys: readonly string[], options: LockObjectOptions = {}): LockObject {
    if (!Array.isArray(keys))
      throw new LockConfigError("getMultiLock takes a list of keys: write getMultiLock(['a', 'b']).");
    return this.lockObject('getMultiLock', [readKeys(keys)].flat(), 'exclusive', options);
  }

  /**
   * Returns a semaphore: at most `permits` are held at a time, on all machines.
   * @throws LockKeyError, LockConfigError for a key or a number of permits that cannot be used, and on a store that cannot
   * count permits (Redlock)
   */
  getSemaphore(key: string, options: SemaphoreOptions): Semaphore {
    const terms = OPTIONS.getSemaphore.read('getSemaphore', options);
    refuseFeature(this.engine, 'permits');
    return new DefaultSemaphore(this.acquirer, this.engine, this, assertKey(key), terms);
  }

  /**
   * Returns a count-down latch, which opens when all parts of a job are done, in any processes.
   * @throws LockKeyError for a key that cannot be used; LockConfigError on a store that keeps no latches (Redlock)
   */
  getCountDownLatch(key: string): CountDownLatch {
    return new DefaultCountDownLatch(this.engine, assertKey(key), this.defaults, this.acquirer.warnings);
  }

  /**
   * Returns a candidate for an election: one leader among all processes that stand for the same key. Sends nothing before
   * `start()`.
   * @throws LockKeyError, LockConfigError for a key or an option that cannot be used
   */
  getLeaderElection(key: string, options: LeaderElectionOptions = {}): LeaderElection {
    const { context, elections } = this;
    const acquire = (name: string, terms: AcquireOptions): Promise<LockHandle> => this.acquire(name, terms);
    return new DefaultLeaderElection({ context, elections, acquire }, assertKey(key), options);
  }

  /**
   * Returns the holders and waiters of a key, as Redis knows them; `null` if there are none.
   * @throws LockStoreError if Redis fails
   */
  async inspect(key: string): Promise<LockState | null> {
    return inspectKey(this.engine, this.context, key);
  }

  /**
   * Lists the locks of all clients, with their holders and waiters: `for await (const lock of locks.list()) { … }`.
   * Each key appears once, in any order. The list is read in parts while the loop runs, so a key that is acquired or
   * released meanwhile may be missing, and a lock that is handed over at that moment may have no holder. Keys under the
   * same prefix that hold other data are left out. Redis needs the permission `+scan`. Leaving the loop ends the scan.
   * @throws LockStoreError from the loop if Redis fails, even if some locks were already listed; LockConfigError for an
   *   option that cannot be used, and from the loop on a store that cannot list
   */
  list(options: LockListOptions = {}): AsyncIterableIterator<LockState> {
    return heldLocks(this, OPTIONS.list.read('list', options).match);
  }

  /**
   * Releases a key for all its holders, or only the hold that `hold` names, and hands it to the next waiter. The
   * `signal` of a holder aborts as soon as the message arrives. Until then the holder may keep working, so two callers
   * can overlap: use fencing tokens. Resolves to `true` if the key was held, or if that hold existed. Only holds that
   * the call has found end. A later grant stays, even if the network repeats or delays commands.
   * @throws LockStoreError if Redis fails: the key may still have been released; LockKeyError, LockConfigError
   */
  async forceRelease(key: string, options: ForceReleaseOptions = {}): Promise<boolean> {
    const { hold, by } = OPTIONS.forceRelease.read('forceRelease', options);
    return (await this.engine.forceRelease(assertKey(key), hold, by)).holds > 0;
  }

  /**
   * Checks whether Redis answers, messages are received, and renewals are in time. It resolves even if a check fails.
   * For Terminus use the indicator in `nestjs-redis-locks/health`.
   * @throws LockConfigError for an option that cannot be used
   */
  async health(options: LockHealthOptions = {}): Promise<LockHealth> {
    return readLockHealth(this.engine, this.context, options);
  }

  /** @internal Lists the keys that are held, page by page. @throws LockStoreError; LockConfigError: it cannot list */
  listKeys(request: ListRequest): Promise<ListReply> {
    return this.engine.list(request);
  }

  /** @internal Runs `work` in the scope of a handle: `work` re-enters its lock, and `currentLock()` returns it. */
  within<T>(handle: LockHandle, work: () => T): T {
    return handle instanceof HeldLock ? LockScope.ofLock(handle).run(work) : work();
  }

  /** @internal Connects; resolves when messages to waiters are received. @throws LockStoreError after `commandTimeout` */
  start(): Promise<void> {
    this.stopReadings ??= answerReadings(() =>
      readInstance(this.instance, this.engine, this.context, this.elections.patterns),
    );
    return this.engine.start();
  }

  /** @internal Refuses new acquisitions, and rejects all waiters. */
  stopWaiting(why?: string): void {
    this.elections.stopAll(why);
    this.engine.stopWaiting(why);
  }

  /**
   * @internal Refuses new acquisitions, and logs which locks are held while the application waits for its open requests,
   * which Nest does without limit. After `drainTimeout`, it closes.
   */
  drain(): void {
    this.stopWaiting();
    if (this.draining !== undefined) return;
    const since = performance.now();
    this.draining = setInterval(() => this.engine.reportDrain(performance.now() - since), DRAIN_REPORTS).unref();
    const { drainTimeout } = this.options;
    if (drainTimeout < LONGEST_TIMER) this.drained = setTimeout(() => void this.close(), drainTimeout);
  }

  /** @internal Gives holders `shutdownTimeout` to finish, releases the remaining locks and disconnects. */
  close(): Promise<void> {
    this.stopReadings?.();
    clearInterval(this.draining);
    clearTimeout(this.drained);
    this.stopWaiting();
    return (this.closed ??= this.engine.close(this.options.shutdownTimeout).finally(() => clearInterval(this.keeper)));
  }

  /**
   * @internal Keeps the process running until `close()`. The connections do not, so a process can end whose application
   * fails to start. An application that is closed while it starts calls this after `close()`.
   */
  keepProcess(): void {
    if (this.closed === undefined) this.keeper ??= setInterval(() => undefined, LONGEST_TIMER);
  }

  /** @internal What a log shows. */
  toJSON(): { name: string; client: string } {
    return { name: this.instance, client: this.clientId };
  }

  /** @internal */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `LockService ${inspect(this.toJSON(), options)}`;
  }

  private lockObject(
    label: string,
    keys: readonly string[],
    kind: LockKind,
    options: LockObjectOptions,
    fair = false,
  ): LockObject {
    const terms = { ...OPTIONS.getLock.read(label, options), keys, kind, fair };
    return new DefaultLock(this.acquirer, this.engine, this.defaults.renewedLease, terms);
  }
}

/** The services of an application by name, provided as `LOCK_REGISTRY`. */
export interface LockServices {
  /** @throws LockConfigError that lists the known names, if there is no service with this name */
  service(name: string): LockService;
  /** The names of all services. */
  names(): string[];
  /** A message that there is no instance with this name, with the names that there are. */
  unknownName(name: string): string;
}

/**
 * A query of an ORM starts when its `then` is called. This calls it in the scope of the lock, where nested calls re-enter;
 * `await` would call it outside.
 */
function begun<T>(result: T | Promise<T>): T | Promise<T> {
  if (result instanceof Promise || !isThenable(result)) return result;
  return Promise.resolve(result as PromiseLike<T>);
}

/**
 * What does its work later does it without the lock.
 * @throws LockConfigError for an Observable of any copy of RxJS, and for a generator
 */
function refuseLazy(result: unknown, { key }: LockHandle, method = 'the task of run'): void {
  if (typeof result !== 'object' || (!isObservable(result) && !isGenerator(result))) return;
  const [what, instead] = isObservable(result)
    ? [
        'an Observable',
        'return lastValueFrom(…) of it, or declare the method to return an Observable without a promise',
      ]
    : ['a generator', 'consume it with for await within the task'];
  throw new LockConfigError(
    `${method} has returned ${what}, which does its work later, without the lock '${key}': ${instead}.`,
    { key },
  );
}

function notATask(task: unknown, options: unknown): LockConfigError {
  if (typeof options === 'function')
    return new LockConfigError('run takes the task before the options: write run(key, task, options).');
  const what = typeof task === 'function' ? 'a generator, which runs without it' : describe(task);
  return new LockConfigError(
    `run takes a function to run while the lock is held; this is ${what}: write run(key, async (lock) => { … }).`,
  );
}

function lostDuringTask(loss: LockLostError, result: unknown): LockLostError {
  const { message, key, method, lossReason } = loss;
  const error = new LockLostError(message, { key, method, cause: loss, lossReason });
  error.result = result;
  return error;
}

import type { Duration } from '../common/duration.js';
import type { StoredLock } from '../engine/lock-engine.js';
import { LockNotHeldError } from '../errors/index.js';
import type { AcquireOptions, RunOptions } from './acquire-options.js';
import type { LockHandle } from './lock-handle.js';
import { readCount } from './option-readers.js';
import type { Semaphore, SemaphoreCallOptions, SemaphoreRunOptions } from './semaphore.js';

/** What a `Semaphore` object asks of the service. */
export interface SemaphoreService {
  acquire(key: string, options: AcquireOptions, units: number): Promise<LockHandle>;
  tryAcquire(key: string, options: AcquireOptions, units: number): Promise<LockHandle | null>;
  run<T>(key: string, task: (lock: LockHandle) => T | Promise<T>, options: RunOptions, units: number): Promise<T>;
  inspect(key: string): Promise<StoredLock>;
  setPermits(key: string, permits: number): Promise<void>;
}

/** The semaphore shape over the service: holds that are permits. */
export class SemaphoreObject implements Semaphore {
  /** Handles of permits that this object gave out. */
  private readonly given = new WeakSet<LockHandle>();

  constructor(
    private readonly service: SemaphoreService,
    readonly key: string,
    private readonly permits: number,
  ) {}

  async acquire(permits = 1, options: SemaphoreCallOptions = {}): Promise<LockHandle> {
    const terms = { ...options, permits: await this.mostFor(permits) };
    return this.remember(await this.service.acquire(this.key, terms, permits));
  }

  async tryAcquire(permits = 1, waitTime: Duration = 0, leaseTime: Duration = 0): Promise<LockHandle | null> {
    const options = { waitTimeout: waitTime, expire: leaseTime, permits: await this.mostFor(permits) };
    const handle = await this.service.tryAcquire(this.key, options, permits);
    return handle && this.remember(handle);
  }

  async run<T>(task: (handle: LockHandle) => T | Promise<T>, options: SemaphoreRunOptions = {}): Promise<T> {
    const { units = 1, ...rest } = options;
    const guarded = (handle: LockHandle): T | Promise<T> => task(this.remember(handle));
    return this.service.run(this.key, guarded, { ...rest, permits: await this.mostFor(units) }, units);
  }

  async release(handle: LockHandle): Promise<void> {
    const why = this.given.has(handle)
      ? handle.isHeld && (await handle.release())
        ? undefined
        : 'they are not held any more'
      : 'they are not of this semaphore';
    if (why === undefined) return;
    throw new LockNotHeldError(`these permits of '${this.key}' cannot be released: ${why}`, { key: this.key });
  }

  async availablePermits(): Promise<number> {
    const { holds, limit = this.permits } = await this.service.inspect(this.key);
    let free = limit;
    for (const { mode } of holds) free -= mode.kind === 'permits' ? mode.units : limit;
    return Math.max(0, free);
  }

  async getPermits(): Promise<number> {
    const { limit = this.permits } = await this.service.inspect(this.key);
    return limit;
  }

  async setPermits(permits: number): Promise<void> {
    await this.service.setPermits(this.key, readCount('permits', permits, 0));
  }

  /** Raised at run time, there may be more permits than this object was made with. */
  private async mostFor(units: number): Promise<number> {
    return units > this.permits ? Math.max(this.permits, await this.getPermits()) : this.permits;
  }

  private remember(handle: LockHandle): LockHandle {
    this.given.add(handle);
    return handle;
  }
}

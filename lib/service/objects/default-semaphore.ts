import { inspect, type InspectOptions } from 'node:util';
import type { Duration } from '../../common/duration.js';
import type { HoldSurvey, LockEngine } from '../../engine/lock-engine.js';
import { LockConfigError, LockNotHeldError } from '../../errors/index.js';
import type { AcquireOptions, RunOptions } from '../../options/acquire-options.js';
import type { Acquirer } from '../acquirer.js';
import type { LockHandle } from '../handles/lock-handle.js';
import { NO_CONTEXT, ONE_TRY, type CallContext } from '../../options/resolve-acquire-options.js';
import { LARGEST_COUNT, read } from '../../options/option-readers.js';
import { OPTIONS, tryOptions } from '../../options/option-table.js';
import type { Semaphore, SemaphoreCallOptions, SemaphoreDrainOptions, SemaphoreRunOptions } from './semaphore.js';

/** Runs a task with permits of a key: the service. */
interface Runner {
  run<T>(key: string, task: Task<T>, options: RunOptions, context: CallContext): Promise<T>;
}
type Task<T> = (lock: LockHandle) => T | Promise<T>;

/** The number of permits, and the name in metrics. */
export type SemaphoreTerms = Pick<AcquireOptions, 'pattern'> & { readonly permits: number };

/** Asks for all permits that are free. */
const ALL_FREE = 0;

const NUMBER_OF_PERMITS = read.count(0);
const ADDED_PERMITS = read.checked<number>(
  (permits: number) => Number.isSafeInteger(permits) && permits !== 0 && Math.abs(permits) <= LARGEST_COUNT,
  `how many permits to add: a whole number other than 0, up to 10^15`,
);

/** The default implementation of a semaphore: each hold has some of its permits. */
export class DefaultSemaphore implements Semaphore {
  constructor(
    private readonly acquirer: Acquirer,
    private readonly engine: LockEngine,
    private readonly service: Runner,
    readonly key: string,
    private readonly terms: SemaphoreTerms,
  ) {}

  async acquire(units = 1, options: SemaphoreCallOptions = {}): Promise<LockHandle> {
    OPTIONS.semaphore.check('semaphore.acquire', options);
    return this.acquirer.acquire(this.key, { ...options, pattern: this.terms.pattern }, this.taking(units));
  }

  async tryAcquire(
    units = 1,
    wait: Duration | SemaphoreCallOptions = 0,
    expire?: Duration,
  ): Promise<LockHandle | null> {
    const options = tryOptions('semaphore.tryAcquire', 'semaphore', wait, expire);
    return this.acquirer.tryAcquire(this.key, { ...options, pattern: this.terms.pattern }, this.taking(units, ONE_TRY));
  }

  async run<T>(task: Task<T>, options: SemaphoreRunOptions = {}): Promise<T> {
    if (typeof task !== 'function') {
      throw new LockConfigError(
        'semaphore.run takes the task first: write run(async (handle) => { … }, { units: 2 }).',
      );
    }
    OPTIONS.runSemaphore.check('semaphore.run', options);
    const { units = 1, ...others } = options;
    return this.service.run(this.key, task, { ...others, pattern: this.terms.pattern }, this.taking(units));
  }

  async release(handle: LockHandle, units?: number): Promise<void> {
    if (typeof handle !== 'object' || handle === null || typeof handle.release !== 'function') {
      throw new LockConfigError('semaphore.release takes the handle that acquire returned: write release(handle).');
    }
    const { key, kind, isHeld } = handle;
    if (key !== this.key || kind !== 'permits') throw this.notHeld('they belong to another semaphore');
    if (isHeld && units !== undefined) return handle.releaseUnits(units);
    if (!isHeld || !(await handle.release())) throw this.notHeld('they are not held any more');
  }

  async availablePermits(): Promise<number> {
    const { units, hasOthers, limit = this.terms.permits } = await this.survey();
    return hasOthers ? 0 : Math.max(0, limit - units);
  }

  async getPermits(): Promise<number> {
    const { limit = this.terms.permits } = await this.survey();
    return limit;
  }

  async setPermits(permits: number): Promise<void> {
    await this.engine.setLimit(this.key, NUMBER_OF_PERMITS('permits', permits));
  }

  async addPermits(permits: number): Promise<number> {
    return this.engine.addToLimit(this.key, ADDED_PERMITS('permits', permits), this.terms.permits);
  }

  async drainPermits(options: SemaphoreDrainOptions = {}): Promise<LockHandle | null> {
    OPTIONS.drain.check('drainPermits', options);
    this.engine.assertDrains();
    const { pattern, permits } = this.terms;
    const mode = { kind: 'permits', units: ALL_FREE, limit: permits } as const;
    return this.acquirer.tryAcquire(this.key, { ...options, pattern }, { ...ONE_TRY, mode });
  }

  /** What a log shows: not the engine. */
  toJSON(): object {
    return { key: this.key, permits: this.terms.permits };
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `Semaphore ${inspect(this.toJSON(), options)}`;
  }

  /** The context of a call for some permits. The store decides whether there are enough: `setPermits` may change the number. */
  private taking(units: number, context = NO_CONTEXT): CallContext {
    return { ...context, mode: { kind: 'permits', units: read.amount('units', units), limit: this.terms.permits } };
  }

  private survey(): Promise<HoldSurvey> {
    return this.engine.survey({ key: this.key, kind: 'permits' });
  }

  private notHeld(why: string): LockNotHeldError {
    return new LockNotHeldError(`these permits of '${this.key}' cannot be released: ${why}`, { key: this.key });
  }
}

import { inspect, type InspectOptions } from 'node:util';
import type { Duration } from '../../common/duration.js';
import type { ReplicaTerms } from '../../engine/hold.js';
import type { Latches } from '../../engine/latches.js';
import type { LockEngine } from '../../engine/lock-engine.js';
import { LockConfigError } from '../../errors/index.js';
import type { CountDownLatch, LatchCountOptions, LatchOptions, LatchWaitOptions } from './count-down-latch.js';
import type { OptionWarnings } from '../../options/resolve-acquire-options.js';
import { read } from '../../options/option-readers.js';
import { OPTIONS } from '../../options/option-table.js';
import { refuseFeature } from '../refused-features.js';

/** For how long a latch stays closed without a count-down, in ms. */
const LIFETIME = 86_400_000;

/** The default implementation of a count-down latch, on the latches of the engine. */
export class DefaultCountDownLatch implements CountDownLatch {
  private readonly latches: Latches;

  /** @throws LockConfigError on a store that keeps no latches */
  constructor(
    private readonly engine: LockEngine,
    readonly key: string,
    private readonly defaults: { readonly replicas?: ReplicaTerms | undefined },
    private readonly warnings: OptionWarnings,
  ) {
    refuseFeature(engine, 'latches');
    if (engine.latches === undefined)
      throw new LockConfigError('The store of these locks keeps no count-down latches.');
    this.latches = engine.latches;
  }

  async trySetCount(count: number, options: LatchOptions = {}): Promise<boolean> {
    const { expire, replicas = this.defaults.replicas } = OPTIONS.trySetCount.read('trySetCount', options);
    if (expire !== undefined) refuseFeature(this.engine, 'latchExpire');
    if (replicas !== undefined) refuseFeature(this.engine, 'replicas');
    return this.latches.trySetCount(this.key, read.amount('count', count), expire ?? LIFETIME, replicas);
  }

  async countDown(options: LatchCountOptions = {}): Promise<number> {
    const { replicas = this.defaults.replicas } = OPTIONS.countDown.read('countDown', options);
    if (replicas !== undefined) refuseFeature(this.engine, 'replicas');
    return this.latches.countDown(this.key, replicas);
  }

  getCount(): Promise<number> {
    return this.latches.count(this.key);
  }

  async delete(): Promise<boolean> {
    refuseFeature(this.engine, 'latchDelete');
    return this.latches.delete(this.key);
  }

  async await(wait: Duration | LatchWaitOptions = {}): Promise<boolean> {
    const options = typeof wait === 'object' ? wait : { waitTimeout: wait };
    const { waitTimeout, signal } = OPTIONS.await.read('await', options);
    this.warnings.about('await', options);
    return this.latches.wait(this.key, { waitTimeout, signal });
  }

  /** What a log shows: not the engine. */
  toJSON(): object {
    return { key: this.key };
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `CountDownLatch ${inspect(this.toJSON(), options)}`;
  }
}

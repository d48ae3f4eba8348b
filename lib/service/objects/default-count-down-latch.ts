import type { Duration } from '../../common/duration.js';
import type { ReplicaTerms } from '../../engine/hold.js';
import type { Latches } from '../../engine/latches.js';
import type { CountDownLatch, LatchCountOptions, LatchOptions, LatchWaitOptions } from './count-down-latch.js';
import type { Doubts } from '../../options/option-doubts.js';
import {
  readCount,
  readLease,
  readSignal,
  readWaitTimeout,
  refuseUnknownOptions,
} from '../../options/option-readers.js';
import { readReplicas } from '../../options/resolve-acquire-options.js';

/** For how long a latch stays closed without a count-down, in ms. */
const LIFETIME = 86_400_000;

const OPTIONS = ['expire', 'replicas'] satisfies Array<keyof LatchOptions>;
const COUNT_OPTIONS = ['replicas'] satisfies Array<keyof LatchCountOptions>;
const WAIT_OPTIONS = ['waitTimeout', 'signal'] satisfies Array<keyof LatchWaitOptions>;

/** The default implementation of a count-down latch, on the latches of the engine. */
export class DefaultCountDownLatch implements CountDownLatch {
  constructor(
    private readonly latches: Latches,
    readonly key: string,
    private readonly defaults: { readonly replicas?: ReplicaTerms | undefined },
    private readonly doubts: Doubts,
  ) {}

  async trySetCount(count: number, options: LatchOptions = {}): Promise<boolean> {
    refuseUnknownOptions('trySetCount', options, OPTIONS);
    const lifetime = options.expire === undefined ? LIFETIME : readLease('expire', options.expire);
    const replicas = this.readReplicas(options);
    return this.latches.trySetCount(this.key, readCount('count', count, 1), lifetime, replicas);
  }

  async countDown(options: LatchCountOptions = {}): Promise<number> {
    refuseUnknownOptions('countDown', options, COUNT_OPTIONS);
    return this.latches.countDown(this.key, this.readReplicas(options));
  }

  getCount(): Promise<number> {
    return this.latches.count(this.key);
  }

  async await(wait: Duration | LatchWaitOptions = {}): Promise<boolean> {
    const options = typeof wait === 'object' ? wait : { waitTimeout: wait };
    refuseUnknownOptions('await', options, WAIT_OPTIONS);
    this.doubts.about('await', options);
    const { waitTimeout = Infinity, signal } = options;
    return this.latches.wait(this.key, {
      waitTimeout: readWaitTimeout('waitTimeout', waitTimeout),
      signal: readSignal(signal),
    });
  }

  private readReplicas({ replicas }: LatchCountOptions): ReplicaTerms | undefined {
    return replicas === undefined ? this.defaults.replicas : readReplicas('replicas', replicas);
  }
}

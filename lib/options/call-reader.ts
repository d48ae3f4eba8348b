import { LONGEST_SUSPICIOUS_WAIT } from './option-readers.js';
import type { AcquireOptions } from './acquire-options.js';
import type { OptionWarnings } from './option-warnings.js';
import type { AcquireCall, AcquireDefaults, RunCall } from './resolve-acquire-options.js';

/**
 * Reads the options of one kind of call: checked, completed with the defaults, and warned about. Options that cannot change,
 * such as those of decorated methods and of calls without options, are read once.
 */
export class CallReader<Options extends object, Call extends AcquireCall | RunCall> {
  private readonly calls = new WeakMap<Options, Call>();

  constructor(
    private readonly resolve: (written: Options, defaults: AcquireDefaults) => Call,
    private readonly defaults: AcquireDefaults,
    private readonly warnings: OptionWarnings,
  ) {}

  /** @throws LockConfigError for the first option that cannot be used */
  read(written: Options): Call {
    const known = this.calls.get(written);
    if (known !== undefined) return known;
    const call = this.resolve(written, this.defaults);
    this.warn(call, written);
    if (Object.isFrozen(written)) this.calls.set(written, call);
    return call;
  }

  private warn({ terms }: Call, { expire = this.defaults.expire, maxRenewTimes, waitTimeout }: AcquireOptions): void {
    if (maxRenewTimes === undefined && terms.waitTimeout > LONGEST_SUSPICIOUS_WAIT) return;
    this.warnings.about(terms.pattern ?? terms.method ?? 'options of a lock', { expire, maxRenewTimes, waitTimeout });
  }
}

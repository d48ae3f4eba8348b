import type { HoldTerms, HoldMode } from '../engine/hold.js';
import type { WaitTerms } from '../engine/waiter.js';
import type { AcquireOptions, KeyBuilder, LockKind, OnContended } from './acquire-options.js';
import { durationIn } from '../common/duration.js';
import { OPTIONS, type OptionsOf } from './option-table.js';

/** What applies if a call or a decorator does not say otherwise, in ms. */
export type CallDefaults = OptionsOf<'defaults'> & {
  /** The lease of a lock that is renewed. */
  readonly renewedLease: number;
  /** The `waitTimeout` of methods that set neither it nor `onContended`: 0 if the default `onContended` does not throw. */
  readonly methodWaitTimeout: number;
  /** Makes the final keys of decorated methods and handlers. */
  readonly keyBuilder?: KeyBuilder | undefined;
};

/** What the library knows of a call besides its options. Made by spreading `NO_CONTEXT`, so that it inherits no field. */
export interface CallContext {
  /** The decorated method that makes the call, `Class.method`. */
  readonly method: string | undefined;
  /** The option of the method. */
  readonly onContended: OnContended | undefined;
  /** Whether the caller continues without the lock if other callers hold it. */
  readonly optional: boolean;
  /** ms; applies if the options do not say otherwise. */
  readonly waitTimeout: number | undefined;
  /** Ends the wait: the subscriber of the call is gone. */
  readonly signal: AbortSignal | undefined;
  /** How the key is held, if the options do not say it: by the permits of a semaphore object, or as it was handed over. */
  readonly mode: HoldMode | undefined;
}

export const NO_CONTEXT: CallContext = Object.freeze({
  ...{ method: undefined, onContended: undefined, optional: false },
  ...{ waitTimeout: undefined, signal: undefined, mode: undefined },
});
/** One try, whose caller continues without the lock if other callers hold it. */
export const ONE_TRY: CallContext = Object.freeze({ ...NO_CONTEXT, optional: true, waitTimeout: 0 });

/** What an acquisition asks for, and how it waits. */
export type AcquireTerms = HoldTerms & WaitTerms;

/** The options of a call, completed with the defaults. */
export interface ReadCall extends Pick<ReadOptions, 'onLost' | 'release'> {
  readonly terms: AcquireTerms;
  readonly reentrant: boolean;
  /** Whether the caller releases the handle itself. If it drops the handle instead, the lock is not renewed any more. */
  readonly isGuarded: boolean;
}
type ReadOptions = Partial<OptionsOf<'run'>>;

/**
 * Reads the options of one kind of call: checked, completed with the defaults, and warned about. The caller uses only the
 * result: what was written may change meanwhile. Options that cannot change, such as those of decorated methods and of calls
 * without options, are read once.
 */
export class CallReader {
  private readonly known = new WeakMap<object, ReadCall>();

  /** @param label the name of the method, for messages */
  constructor(
    private readonly place: 'acquire' | 'run',
    private readonly label: string,
    private readonly defaults: CallDefaults,
    private readonly warnings: OptionWarnings,
  ) {}

  /** @throws LockConfigError for the first option that cannot be used */
  read(written: AcquireOptions | object, context = NO_CONTEXT): ReadCall {
    let call = this.known.get(written);
    if (call === undefined) {
      const options: ReadOptions = OPTIONS[this.place].read(this.label, written);
      const isRun = this.place === 'run';
      const { reentrant = true, release = this.defaults.release } = options;
      const onLost = options.onLost ?? (isRun ? this.defaults.onLost : undefined);
      const terms = termsOf(options, this.defaults, ofMethod(context, this.defaults));
      call = { terms, reentrant, onLost, release, isGuarded: !isRun };
      const { expire = this.defaults.expire, maxRenewTimes, waitTimeout }: AcquireOptions = written;
      const label = terms.pattern ?? terms.method ?? 'options of a lock';
      this.warnings.about(label, { expire, maxRenewTimes, waitTimeout });
      if (Object.isFrozen(written)) this.known.set(written, call);
    }
    const { signal } = context;
    return signal === undefined ? call : { ...call, terms: { ...call.terms, signal } };
  }
}

/** A method that does not throw on contention does not wait either, unless `waitTimeout` is written beside `onContended`. */
function ofMethod(context: CallContext, { onContended: byDefault, methodWaitTimeout }: CallDefaults): CallContext {
  const { method, onContended } = context;
  if (method === undefined || (onContended ?? byDefault) === 'throw') return context;
  return { ...context, optional: true, waitTimeout: onContended === undefined ? methodWaitTimeout : 0 };
}

function termsOf(
  options: ReadOptions,
  defaults: CallDefaults,
  { method, optional, waitTimeout = defaults.waitTimeout, mode = modeOf(options) }: CallContext,
): AcquireTerms {
  const { owner, pattern, renewedLease, signal, fair = false, replicas = defaults.replicas } = options;
  const expire = options.expire ?? (renewedLease === undefined ? defaults.expire : 0);
  const { holdAtLeast = Math.min(defaults.holdAtLeast, expire > 0 ? expire : Infinity) } = options;
  // Once more, because the default `expire` may be a fixed lease.
  OPTIONS.acquire.readers.holdAtLeast('holdAtLeast', holdAtLeast, { expire });
  return {
    ...{ owner, pattern, method, fair, replicas, signal, optional, mode, holdAtLeast },
    lease: expire > 0 ? expire : (renewedLease ?? defaults.renewedLease),
    renews: expire === 0,
    maxRenewTimes: options.maxRenewTimes ?? defaults.maxRenewTimes,
    waitTimeout: options.waitTimeout ?? waitTimeout,
  };
}

const MODES: Readonly<Record<LockKind, HoldMode>> = {
  exclusive: Object.freeze({ kind: 'exclusive' }),
  write: Object.freeze({ kind: 'exclusive', isWrite: true }),
  read: Object.freeze({ kind: 'read' }),
};

function modeOf({ kind = 'exclusive', permits, units = 1 }: ReadOptions): HoldMode {
  return permits === undefined ? MODES[kind] : { kind: 'permits', units, limit: permits };
}

/** In ms: a shorter wait is of no use, so such a number is usually a mistake for seconds. */
const LONGEST_SUSPICIOUS_WAIT = 49;

/** At most this many different warnings are logged, because a caller may make a new pattern for each call. */
const MOST_WARNINGS = 100;

type SuspiciousOptions = Pick<AcquireOptions, 'expire' | 'maxRenewTimes' | 'waitTimeout'>;

/** Warns about options that are allowed and probably a mistake: once for each label, whatever the values of the options. */
export class OptionWarnings {
  private readonly logged = new Set<string>();

  constructor(private readonly warn: (warning: string) => void) {}

  /** @param written options that were written side by side, and have been checked */
  about(label: string, { expire, maxRenewTimes, waitTimeout }: SuspiciousOptions): void {
    if (Number(maxRenewTimes) > 0 && Number(durationIn(expire)) > 0) {
      const why = ' has no effect beside expire, a fixed lease, which is not renewed: leave one of them out.';
      this.once(`${label}: maxRenewTimes`, why);
    }
    if (typeof waitTimeout === 'number' && waitTimeout >= 1 && waitTimeout <= LONGEST_SUSPICIOUS_WAIT) {
      const instead = `write '${waitTimeout}s' if seconds were meant, or '${waitTimeout}ms'.`;
      this.once(`${label}: waitTimeout`, ` is ${waitTimeout}, which is in milliseconds: ${instead}`);
    }
  }

  private once(what: string, warning: string): void {
    if (this.logged.has(what) || this.logged.size >= MOST_WARNINGS) return;
    this.logged.add(what);
    this.warn(what + warning);
  }
}

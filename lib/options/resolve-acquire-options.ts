import type { HoldTerms, HoldMode, ReplicaTerms } from '../engine/hold.js';
import type { WaitTerms } from '../engine/waiter.js';
import { LockConfigError } from '../errors/index.js';
import type {
  AcquireOptions,
  AdoptOptions,
  LockLostListener,
  LockKind,
  OnLost,
  ReleaseMode,
  RunOptions,
} from './acquire-options.js';
import { isCountedByStore, isDraining } from './counted-by-store.js';
import { isPlainly } from './plain-options.js';
import { refuseUnknownOptions } from './option-readers.js';
import { callingMethod } from './calling-method.js';
import { isOptional } from './optional-calls.js';
import { optionNames, readOptions, type ReadOptions } from './option-table.js';

const ACQUIRE = optionNames('acquire');
const RUN = optionNames('run');
const ADOPT = optionNames('adopt');

/** What applies if a call does not say otherwise, in ms. */
export interface AcquireDefaults {
  readonly expire: number;
  readonly maxRenewTimes: number;
  readonly waitTimeout: number;
  /** At most the lease of a call with a fixed one. */
  readonly holdAtLeast?: number;
  /** The lease of a lock that is renewed. */
  readonly renewedLease: number;
  readonly replicas?: ReplicaTerms | undefined;
  /** Whether the caller continues without the lock if other callers hold it. */
  readonly optional?: boolean;
}

/** What an acquisition asks for, without its key. */
export type AcquireTerms = Omit<HoldTerms, 'key'> & WaitTerms;

/** The options of a call that acquires a lock, completed with the defaults. */
export interface AcquireCall {
  readonly terms: AcquireTerms;
  readonly reentrant: boolean;
  readonly onLost: LockLostListener | undefined;
}

/** The options of a call of `run`. */
export interface RunCall extends Omit<AcquireCall, 'onLost'> {
  readonly onLost: OnLost | undefined;
  readonly release: ReleaseMode | undefined;
}

/**
 * Checks the options of `acquire` or `tryAcquire` and completes them with the defaults. The caller uses only the result:
 * what was written may change meanwhile.
 * @throws LockConfigError for the first option that cannot be used
 */
export function readAcquireCall(label: string, written: AcquireOptions, defaults: AcquireDefaults): AcquireCall {
  if (!isPlainly(written, ACQUIRE)) refuseUnknownOptions(label, written, ACQUIRE);
  const options = readOptions('acquire', written);
  return { terms: termsOf(options, written, defaults), reentrant: options.reentrant ?? true, onLost: options.onLost };
}

/** Like `readAcquireCall`, for `run`. */
export function readRunCall(written: RunOptions, defaults: AcquireDefaults): RunCall {
  if (!isPlainly(written, RUN)) refuseUnknownOptions('run', written, RUN);
  const options = readOptions('run', written);
  const optional = isOptional(written);
  return {
    terms: termsOf(options, written, optional ? { ...defaults, optional } : defaults),
    reentrant: options.reentrant ?? true,
    onLost: options.onLost,
    release: options.release,
  };
}

/** Like `readAcquireCall`, for `adopt` of a lock that is held as `mode`. */
export function readAdoptCall(
  written: AdoptOptions,
  defaults: AcquireDefaults,
  mode: HoldMode,
): Pick<AcquireCall, 'terms' | 'onLost'> {
  if (!isPlainly(written, ADOPT)) refuseUnknownOptions('adopt', written, ADOPT);
  const { onLost, ...options } = readOptions('adopt', written);
  const terms = termsOf({ ...readOptions('acquire', {}), ...options }, written, defaults);
  return { terms: { ...terms, mode }, onLost };
}

function termsOf(
  options: Omit<ReadOptions<'run'>, 'onLost' | 'release'>,
  written: object,
  defaults: AcquireDefaults,
): AcquireTerms {
  const expire = options.expire ?? (options.renewedLease === undefined ? defaults.expire : 0);
  refuseContradictions(isCountedByStore(written) ? { ...options, units: undefined } : options, expire);
  return {
    owner: options.owner,
    pattern: options.pattern,
    method: callingMethod(written),
    mode: modeOf(isDraining(written) ? { ...options, units: 0 } : options),
    fair: options.fair ?? false,
    replicas: options.replicas ?? defaults.replicas,
    lease: expire > 0 ? expire : (options.renewedLease ?? defaults.renewedLease),
    renews: expire === 0,
    maxRenewTimes: options.maxRenewTimes ?? defaults.maxRenewTimes,
    holdAtLeast: options.holdAtLeast ?? Math.min(defaults.holdAtLeast ?? 0, expire > 0 ? expire : Infinity),
    waitTimeout: options.waitTimeout ?? defaults.waitTimeout,
    signal: options.signal,
    optional: defaults.optional ?? false,
  };
}

/** The terms of one key. Copies field by field, which is several times as fast as a spread: each acquisition needs it. */
export const holdTerms = ({ key, owner }: Pick<HoldTerms, 'key' | 'owner'>, terms: AcquireTerms): HoldTerms => ({
  key,
  owner,
  mode: terms.mode,
  fair: terms.fair,
  lease: terms.lease,
  renews: terms.renews,
  maxRenewTimes: terms.maxRenewTimes,
  holdAtLeast: terms.holdAtLeast,
  replicas: terms.replicas,
  pattern: terms.pattern,
  method: terms.method,
  optional: terms.optional,
});

/**
 * Refuses options that exclude each other.
 * @param expire the lease that applies, 0 for a lease that is renewed
 * @throws LockConfigError
 */
export function refuseContradictions(
  {
    renewedLease,
    holdAtLeast = 0,
    kind,
    permits,
    units,
  }: Partial<Pick<ReadOptions<'decorator'>, 'renewedLease' | 'holdAtLeast' | 'kind' | 'permits' | 'units'>>,
  expire: number,
  prefix = '',
): void {
  if (expire > 0 && renewedLease !== undefined) {
    throw new LockConfigError(
      `${prefix}expire (${expire} ms) and renewedLease (${renewedLease} ms) exclude each other: expire above 0 ` +
        'is a fixed lease, which ends even if the holder still works; renewedLease is a lease that is renewed until the ' +
        'lock is released. Leave one of them out.',
    );
  }
  if (expire > 0 && holdAtLeast > expire) {
    throw new LockConfigError(
      `${prefix}holdAtLeast (${holdAtLeast} ms) is longer than expire (${expire} ms): ` +
        'make expire at least as long, or leave it out.',
    );
  }
  if (kind !== undefined && permits !== undefined) {
    throw new LockConfigError(`${prefix}kind and permits do not go together: leave one of them out.`);
  }
  if (units !== undefined && permits === undefined) {
    throw new LockConfigError(
      `${prefix}units (${units}) needs the total number of permits: write { permits: 5, units: ${units} }.`,
    );
  }
  if (units !== undefined && permits !== undefined && units > permits) {
    throw new LockConfigError(
      `${prefix}${units} permits of ${permits} can never be granted: request at most ${permits}.`,
    );
  }
}

const EXCLUSIVE: HoldMode = Object.freeze({ kind: 'exclusive' });

const MODES: Readonly<Record<LockKind, HoldMode>> = {
  exclusive: EXCLUSIVE,
  write: Object.freeze({ kind: 'exclusive', isWrite: true }),
  read: Object.freeze({ kind: 'read' }),
};

function modeOf({ kind, permits, units = 1 }: Pick<ReadOptions<'run'>, 'kind' | 'permits' | 'units'>): HoldMode {
  if (permits === undefined) return kind === undefined ? EXCLUSIVE : MODES[kind];
  return { kind: 'permits', units, limit: permits };
}

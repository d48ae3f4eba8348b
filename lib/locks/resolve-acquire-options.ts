import type { HoldTerms } from '../engine/hold.js';
import type { WaitTerms } from '../engine/waiter.js';
import { LockConfigError } from '../errors/index.js';
import type { AcquireOptions, RunOptions } from './acquire-options.js';
import { readDuration, readExpire, readTimes, readWaitTimeout, refuseUnknownOptions } from './option-readers.js';

/** What applies where a call does not say otherwise, in ms. */
export interface AcquireDefaults {
  readonly expire: number;
  readonly maxRenewTimes: number;
  readonly waitTimeout: number;
  /** The lease of a lock that renews itself. */
  readonly lockWatchdogTimeout: number;
}

const OPTIONS = [
  'expire',
  'maxRenewTimes',
  'waitTimeout',
  'signal',
  'owner',
  'reentrant',
  'holdAtLeast',
  'onLost',
] satisfies Array<keyof AcquireOptions>;

const OWNER = /^[^\s\p{Cc}\p{Cs}]{1,128}$/u;

/**
 * Checks the options of a call and completes them.
 * @throws LockConfigError for the first that cannot be used
 */
export function resolveAcquireOptions(
  key: string,
  written: AcquireOptions | RunOptions,
  defaults: AcquireDefaults,
): HoldTerms & WaitTerms {
  refuseUnknownOptions('acquire', written, OPTIONS);
  const expire = written.expire === undefined ? defaults.expire : Math.ceil(readExpire('expire', written.expire));
  const holdAtLeast =
    written.holdAtLeast === undefined ? 0 : Math.ceil(readDuration('holdAtLeast', written.holdAtLeast));
  if (expire > 0 && holdAtLeast > expire) {
    throw new LockConfigError(
      `holdAtLeast (${holdAtLeast} ms) is longer than expire (${expire} ms): make expire at least as long, or leave it out.`,
    );
  }
  const { maxRenewTimes, waitTimeout, signal } = written;
  const owner = readOwner(written.owner);
  if (written.onLost !== undefined && typeof written.onLost !== 'function') {
    throw new LockConfigError(
      "onLost must be a function here; 'throw' and 'ignore' are for run and decorated methods.",
    );
  }
  if (written.reentrant !== undefined && typeof written.reentrant !== 'boolean') {
    throw new LockConfigError('reentrant must be true or false.');
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new LockConfigError('signal must be an AbortSignal: write controller.signal, or AbortSignal.timeout(5000).');
  }
  return {
    key,
    owner,
    lease: expire > 0 ? expire : defaults.lockWatchdogTimeout,
    renews: expire === 0,
    maxRenewTimes: maxRenewTimes === undefined ? defaults.maxRenewTimes : readTimes('maxRenewTimes', maxRenewTimes),
    holdAtLeast,
    waitTimeout: waitTimeout === undefined ? defaults.waitTimeout : readWaitTimeout('waitTimeout', waitTimeout),
    signal,
  };
}

/** An identity that a caller named, if it named one. */
export function readOwner(owner: unknown): string | undefined {
  if (owner === undefined || (typeof owner === 'string' && OWNER.test(owner))) return owner;
  throw new LockConfigError('owner must be a text of 1 to 128 characters without spaces or control characters.');
}

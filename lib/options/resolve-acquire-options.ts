import type { HoldTerms, ReplicaTerms } from '../engine/hold.js';
import type { WaitTerms } from '../engine/waiter.js';
import { LockConfigError } from '../errors/index.js';
import type { LockMode } from '../engine/hold.js';
import type { AcquireOptions, LockType, ReplicaOptions, RunOptions } from './acquire-options.js';
import { quote } from '../common/describe.js';
import {
  readCount,
  readDuration,
  readExpire,
  readFlag,
  readSignal,
  readTimes,
  readWaitTimeout,
  refuseUnknownOptions,
} from './option-readers.js';

/** What applies where a call does not say otherwise, in ms. */
export interface AcquireDefaults {
  readonly expire: number;
  readonly maxRenewTimes: number;
  readonly waitTimeout: number;
  /** The lease of a lock that renews itself. */
  readonly lockWatchdogTimeout: number;
  readonly replicas?: ReplicaTerms | undefined;
}

export const ACQUIRE_OPTIONS = [
  'expire',
  'maxRenewTimes',
  'waitTimeout',
  'signal',
  'owner',
  'reentrant',
  'holdAtLeast',
  'type',
  'permits',
  'fair',
  'replicas',
  'onLost',
  'pattern',
] satisfies Array<keyof AcquireOptions>;

const OWNER = /^[^\s\p{Cc}\p{Cs}]{1,128}$/u;

/** What an acquisition asks for, whatever its key. */
export type AcquireTerms = Omit<HoldTerms, 'key'> & WaitTerms;

/**
 * Checks the options of a call and completes them.
 * @throws LockConfigError for the first that cannot be used
 */
export function resolveAcquireOptions(
  written: AcquireOptions | RunOptions,
  defaults: AcquireDefaults,
  units = 1,
): AcquireTerms {
  refuseUnknownOptions('acquire', written, ACQUIRE_OPTIONS);
  const expire = written.expire === undefined ? defaults.expire : readExpire('expire', written.expire);
  const holdAtLeast =
    written.holdAtLeast === undefined ? 0 : Math.ceil(readDuration('holdAtLeast', written.holdAtLeast));
  if (expire > 0 && holdAtLeast > expire) {
    throw new LockConfigError(
      `holdAtLeast (${holdAtLeast} ms) is longer than expire (${expire} ms): make expire at least as long, or leave it out.`,
    );
  }
  const { maxRenewTimes, waitTimeout, signal, replicas } = written;
  const owner = readOwner(written.owner);
  if (written.onLost !== undefined && typeof written.onLost !== 'function') {
    throw new LockConfigError(
      "onLost must be a function here; 'throw' and 'ignore' are for run and decorated methods.",
    );
  }
  if (written.reentrant !== undefined && typeof written.reentrant !== 'boolean') {
    throw new LockConfigError('reentrant must be true or false.');
  }
  return {
    owner,
    pattern: readPattern('pattern', written.pattern),
    mode: readMode(written, units),
    fair: readFlag('fair', written.fair),
    replicas: replicas === undefined ? defaults.replicas : readReplicas('replicas', replicas),
    lease: expire > 0 ? expire : defaults.lockWatchdogTimeout,
    renews: expire === 0,
    maxRenewTimes: maxRenewTimes === undefined ? defaults.maxRenewTimes : readTimes('maxRenewTimes', maxRenewTimes),
    holdAtLeast,
    waitTimeout: waitTimeout === undefined ? defaults.waitTimeout : readWaitTimeout('waitTimeout', waitTimeout),
    signal: readSignal(signal),
  };
}

/** An identity that a caller named, if it named one. */
export function readOwner(owner: unknown): string | undefined {
  if (owner === undefined || (typeof owner === 'string' && OWNER.test(owner))) return owner;
  throw new LockConfigError('owner must be a text of 1 to 128 characters without spaces or control characters.');
}

/**
 * What stands for a key in metrics, if anything does.
 * @throws LockConfigError
 */
export function readPattern(label: string, written: unknown): string | undefined {
  if (written === undefined || (typeof written === 'string' && written.trim() !== '')) return written;
  throw new LockConfigError(`${label} must be a text that stands for all keys of one kind, such as 'stock:*'.`);
}

/** How long `WAIT` may take, unless told otherwise, in ms. */
const REPLICAS_TIMEOUT = 1_000;

/** @throws LockConfigError */
export function readReplicas(label: string, written: unknown): ReplicaTerms {
  refuseUnknownOptions(label, written, ['min', 'timeout']);
  const { min, timeout } = written as Partial<ReplicaOptions>;
  return {
    min: readCount(`${label}.min`, min, 1),
    timeout: timeout === undefined ? REPLICAS_TIMEOUT : Math.ceil(readDuration(`${label}.timeout`, timeout)),
  };
}

function readMode({ type, permits }: AcquireOptions | RunOptions, units: number): LockMode {
  if (permits !== undefined) {
    if (type !== undefined) throw new LockConfigError('type and permits do not go together: leave one of them out.');
    const limit = readCount('permits', permits, 1);
    if (readCount('the number of permits asked for', units, 1) > limit) {
      throw new LockConfigError(`${units} permits of ${limit} can never be had: ask for at most ${limit}.`);
    }
    return { kind: 'permits', units, limit };
  }
  return { kind: type !== undefined && readType('type', type) === 'read' ? 'read' : 'exclusive' };
}

/** @throws LockConfigError */
export function readType(label: string, written: unknown): LockType {
  if (written === 'exclusive' || written === 'read' || written === 'write') return written;
  const hint = written === 'fair' ? ': write fair: true' : written === 'semaphore' ? ': write permits: 3' : '';
  throw new LockConfigError(`${label} is ${quote(String(written))}; write 'exclusive', 'read' or 'write'${hint}.`);
}

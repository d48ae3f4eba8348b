import type { ReplicaTerms } from '../engine/hold.js';
import { describe, quote } from '../common/describe.js';
import { withoutSecret } from '../common/credentials.js';
import { refuseUrls } from '../common/refuse-urls.js';
import { LockConfigError } from '../errors/index.js';
import type {
  LockLostListener,
  LockKind,
  OnContended,
  OnLost,
  OnUnavailable,
  ReleaseMode,
  ReplicaOptions,
} from './acquire-options.js';
import { readChoice, readCount, readDuration, refuseUnknownOptions } from './option-readers.js';

/*
 * Readers of options that only locks have. As in option-readers.ts, each takes the label for its messages and the value as
 * it was written.
 */

const OWNER = /^[^\s\p{Cc}\p{Cs}]{1,128}$/u;
/** In ms: the default of `replicas.timeout`. */
const REPLICAS_TIMEOUT = 1_000;

/** The value as it was written: another place checks it. */
export const asWritten = (_label: string, written: unknown): unknown => written;

/** Redis counts whole milliseconds. */
export const readWholeDuration = (label: string, written: unknown): number => Math.ceil(readDuration(label, written));

export const readPermits = (label: string, written: unknown): number => readCount(label, written, 1);

export function readSignal(label: string, written: unknown): AbortSignal {
  if (written instanceof AbortSignal) return written;
  throw new LockConfigError(`${label} must be an AbortSignal: write controller.signal, or AbortSignal.timeout(5000).`);
}

export function readOwner(label: string, written: unknown): string {
  if (typeof written === 'string' && OWNER.test(written)) return written;
  throw new LockConfigError(`${label} must be a text of 1 to 128 characters without spaces or control characters.`);
}

export function readPattern(label: string, written: unknown): string {
  if (typeof written === 'string' && written.trim() !== '') return written;
  throw new LockConfigError(`${label} must be a text that stands for all keys of one kind, such as 'stock:*'.`);
}

export function readMatch(label: string, written: unknown): string {
  if (typeof written === 'string' && written !== '') return written;
  throw new LockConfigError(`${label} must be a key, in which * stands for any text: write match: 'stock:*'.`);
}

export function readHoldIds(label: string, written: unknown): string | readonly string[] {
  const ids = Array.isArray(written) ? (written as unknown[]) : [written];
  if (ids.length > 0 && ids.every((id) => typeof id === 'string' && id !== '')) return ids as string[];
  throw new LockConfigError(
    `${label} must be the id of a hold: write hold: holder.id, with a holder of inspect(key) or list().`,
  );
}

export function readBy(label: string, written: unknown): string {
  if (typeof written === 'string' && written.trim() !== '') return withoutSecret(written);
  throw new LockConfigError(`${label} must say who releases the lock: write by: 'ann@bastion'.`);
}

/** A written value; of an object or a function only what it is, because its `toString` may throw. */
const shown = (written: unknown): string =>
  ['object', 'function', 'symbol'].includes(typeof written) ? describe(written) : quote(String(written));

export function readKind(label: string, written: unknown): LockKind {
  if (written === 'exclusive' || written === 'read' || written === 'write') return written;
  const hint = written === 'fair' ? ': write fair: true' : written === 'semaphore' ? ': write permits: 3' : '';
  throw new LockConfigError(`${label} is ${shown(written)}; write 'exclusive', 'read' or 'write'${hint}.`);
}

export function readReplicas(label: string, written: unknown): ReplicaTerms {
  refuseUnknownOptions(label, written, ['min', 'timeout'] satisfies Array<keyof ReplicaOptions>);
  const { min, timeout } = written as Partial<ReplicaOptions>;
  return {
    min: readCount(`${label}.min`, min, 1),
    timeout: timeout === undefined ? REPLICAS_TIMEOUT : readWholeDuration(`${label}.timeout`, timeout),
  };
}

export function readOnContended(label: string, written: unknown): OnContended {
  readChoice(label, written, ['throw', 'skip']);
  return written as OnContended;
}

export function readOnUnavailable(label: string, written: unknown): OnUnavailable {
  readChoice(label, written, ['throw', 'skip']);
  return written as OnUnavailable;
}

export function readOnLost(label: string, written: unknown): OnLost {
  readChoice(label, written, ['throw', 'ignore']);
  return written as OnLost;
}

export function readRelease(label: string, written: unknown): ReleaseMode {
  if (written === 'awaited' || written === 'background') return written;
  throw new LockConfigError(
    `${label} is ${shown(written)}; write 'awaited' (the call returns once Redis has answered its release) or ` +
      "'background' (it returns as soon as the work has ended).",
  );
}

/** `onLost` of a call that does not run the work itself, and so has no result to replace. */
export function readLossListener(label: string, written: unknown): LockLostListener {
  if (typeof written === 'function') return written as LockLostListener;
  throw new LockConfigError(
    `${label} must be a function here; 'throw' and 'ignore' are for run and decorated methods.`,
  );
}

export function readCondition(label: string, written: unknown): (...args: any[]) => unknown {
  if (typeof written === 'function') return written as (...args: any[]) => unknown;
  throw new LockConfigError(`${label} must be a function of the arguments that returns true to lock.`);
}

/** The name of a module instance, where a lock says which one it uses. */
export function readInstanceName(label: string, written: unknown): string {
  if (typeof written !== 'string' || written === '') {
    throw new LockConfigError(`${label} must be the name of a RedisLockModule, such as 'jobs'.`);
  }
  refuseUrls(label, written);
  return written;
}

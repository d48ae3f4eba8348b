import type { AcquireRequest } from '../store/lock-store.js';
import { latchOf, type RedissonNames } from './redisson-names.js';
import { isPlain } from './replies.js';
import type { SCRIPTS } from './scripts.generated.js';

/** A script and what it is called with. */
interface ScriptCall {
  readonly script: keyof typeof SCRIPTS;
  readonly keys: string[];
  readonly args: ReadonlyArray<string | number>;
}

/** The command that requests a lock. `hasWaited`: this acquisition was in the queue of an `RFairLock` before. */
export function commandOf(
  { id, mode, owner, lease, fair, waits }: AcquireRequest,
  { lock, token, permitsChannel }: RedissonNames,
  isFenced: boolean,
  hasWaited: boolean,
): ScriptCall {
  const keys = [lock, latchOf(lock, id)];
  const args = [id, lease];
  if (fair) return { script: 'acquireFair', keys, args: [...args, Number(waits), Number(hasWaited)] };
  if (isPlain(mode)) return { script: 'acquire', keys: isFenced ? [...keys, token] : keys, args };
  if (mode.kind === 'permits') {
    return { script: 'acquirePermits', keys, args: [...args, mode.units, mode.limit, permitsChannel] };
  }
  return { script: 'acquireShared', keys, args: [...args, mode.kind === 'read' ? 'read' : 'write', owner ?? ''] };
}

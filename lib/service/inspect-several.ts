import { quote } from '../common/describe.js';
import { isLockStoreError } from '../errors/index.js';
import type { LockHolder, LockState } from './lock-state.js';

/** A key whose name is that of a lock and whose value is not. */
export interface ForeignKey {
  readonly key: string;
  readonly reason: string;
}

/** The errors of scripts for a value of another type or content, as opposed to failures of a server. */
const NOT_OURS =
  /\bWRONGTYPE\b|data of layout|attempt to |bad argument|Lua redis lib command arguments|was answered with/;

/**
 * Inspects several keys. A key with a foreign value is reported as such, and does not hide the rest.
 * @throws LockStoreError if Redis fails
 */
export async function inspectSeveral(
  locks: { inspect(key: string): Promise<LockState | null> },
  keys: readonly string[],
): Promise<Array<LockState | ForeignKey | null>> {
  return Promise.all(
    keys.map(async (key) => {
      try {
        const info = await locks.inspect(key);
        return info === null || isWhole(info) ? info : { key, reason: 'its fields are not those of a lock' };
      } catch (error) {
        if (!isLockStoreError(error)) return { key, reason: 'its fields are not those of a lock' };
        if (error.transient || !NOT_OURS.test(error.message)) throw error;
        return { key, reason: error.message };
      }
    }),
  );
}

export const isForeign = (found: LockState | ForeignKey | null): found is ForeignKey =>
  found !== null && 'reason' in found;

/** The line for a list of locks. */
export const describeForeign = ({ key, reason }: ForeignKey): string => `${quote(key)} is skipped: ${reason}`;

const isWhole = ({ holders, fencingToken }: LockState): boolean =>
  Number.isFinite(fencingToken) && holders.every(isWholeHolder);

const isWholeHolder = ({ fencingToken, ttl, since }: LockHolder): boolean =>
  Number.isFinite(fencingToken) && Number.isFinite(ttl) && Number.isFinite(since.getTime());

import type { LockMode } from '../engine/hold.js';
import type { StoredLock } from '../engine/lock-engine.js';
import type { LockHolderInfo, LockInfo } from './lock-info.js';

/** The id of an acquisition begins with the id of its client. */
const clientOf = (id: string): string => id.slice(0, id.indexOf(':'));

const unitsOf = (mode: LockMode): number => (mode.kind === 'permits' ? mode.units : 0);

/** Turns a hold into the public form. */
export const readHolder = ({
  id,
  owner,
  mode,
  token,
  ttl,
  kept,
  since,
}: StoredLock['holds'][number]): LockHolderInfo => ({
  id,
  owner,
  type: mode.kind,
  units: unitsOf(mode),
  client: clientOf(id),
  fencingToken: token,
  ttl,
  kept,
  since: new Date(since),
});

/** Turns what the store knows of a key into the public form; `null` if the key has no holder and no waiter. */
export function readLockInfo(key: string, { lastToken, holds, waiters, limit }: StoredLock): LockInfo | null {
  if (holds.length === 0 && waiters.length === 0) return null;
  return {
    key,
    owner: holds[0]?.owner,
    holds: holds.length,
    ttl: holds.length === 0 ? -2 : Math.max(...holds.map((hold) => hold.ttl)),
    fencingToken: holds.length === 0 ? lastToken : Math.max(...holds.map(({ token }) => token)),
    holders: holds.map(readHolder),
    waiters: waiters.map(({ id, owner, mode }) => ({
      id,
      owner,
      type: mode.kind,
      units: unitsOf(mode),
      client: clientOf(id),
    })),
    permits: limit,
  };
}

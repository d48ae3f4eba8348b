import type { HoldMode } from '../engine/hold.js';
import type { EngineContext } from '../engine/engine-context.js';
import type { LockEngine, StoredLock } from '../engine/lock-engine.js';
import { assertKey } from '../keys/index.js';
import type { LockHolder, LockState, LockWaiter } from './lock-state.js';

/** Says whose acquisition an id is. */
type Names = Pick<EngineContext['names'], 'nameOf'>;

const unitsOf = (mode: HoldMode): number => (mode.kind === 'permits' ? mode.units : 0);

/** Turns a hold into the public form. */
export const readHolder = (
  { id, owner, mode, token, ttl, kept, since }: StoredLock['holds'][number],
  names: Names,
): LockHolder => ({
  id,
  owner,
  kind: mode.kind,
  units: unitsOf(mode),
  ...names.nameOf(id),
  fencingToken: token,
  ttl,
  kept,
  since: new Date(since),
});

/** Asks the store about a key, and whose the acquisitions are. */
export async function inspectKey(engine: LockEngine, { names }: EngineContext, key: string): Promise<LockState | null> {
  const stored = await engine.inspect(assertKey(key));
  await names.learn([...stored.holds, ...stored.waiters].map(({ id }) => id));
  return readStoredLock(key, stored, engine.waitingFor(key), names);
}

/** Turns what the store knows of a key into the public form; `null` if the key has no holder and no waiter. */
function readStoredLock(
  key: string,
  { lastToken, holds, waiters, limit }: StoredLock,
  waitingHere: number,
  names: Names,
): LockState | null {
  if (holds.length === 0 && waiters.length === 0) return null;
  return {
    key,
    owner: holds[0]?.owner,
    holds: holds.length,
    ttl: largest(holds, ({ ttl }) => ttl, -2),
    fencingToken: largest(holds, ({ token }) => token, lastToken),
    holders: holds.map((hold) => readHolder(hold, names)),
    waiters: waiters.map((waiter) => readWaiter(waiter, names)),
    waitingHere,
    permits: limit,
  };
}

/** A loop, because there may be more holds than a function takes arguments. */
function largest<T>(items: readonly T[], valueOf: (item: T) => number, ifEmpty: number): number {
  return items.length === 0 ? ifEmpty : items.reduce((most, item) => Math.max(most, valueOf(item)), -Infinity);
}

const readWaiter = ({ id, owner, mode, since }: StoredLock['waiters'][number], names: Names): LockWaiter => ({
  id,
  owner,
  kind: mode.kind,
  units: unitsOf(mode),
  ...names.nameOf(id),
  since: new Date(since),
});

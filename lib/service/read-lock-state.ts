import type { HoldMode } from '../engine/hold.js';
import type { EngineContext } from '../engine/engine-context.js';
import type { LockEngine, StoredLock } from '../engine/lock-engine.js';
import { assertKey } from '../keys/index.js';
import type { LockHolder, LockState, LockWaiter } from './lock-state.js';

/** Says whose acquisition an id is. */
type Names = Pick<EngineContext['names'], 'nameOf'>;

/** Which clients are connected, as far as it is known. */
type Connections = ReadonlyMap<string, boolean>;

/** Whose acquisition it is, and whether that client is connected. */
function named(id: string, names: Names, connections: Connections) {
  const { client, label, pattern, method } = names.nameOf(id);
  return { ...{ client, label, pattern, method }, connected: connections.get(client) };
}

const unitsOf = (mode: HoldMode): number => (mode.kind === 'permits' ? mode.units : 0);

/** Turns a hold into the public form. */
export const readHolder = (
  { id, owner, mode, token, ttl, kept, since }: StoredLock['holds'][number],
  names: Names,
  connections: Connections,
): LockHolder => ({
  id,
  owner,
  kind: mode.kind,
  units: unitsOf(mode),
  ...named(id, names, connections),
  fencingToken: token,
  ttl,
  renewedLease: names.nameOf(id).renewedLease,
  kept,
  since: new Date(since),
});

/** Asks the store about a key, and whose the acquisitions are. */
export async function inspectKey(engine: LockEngine, { names }: EngineContext, key: string): Promise<LockState | null> {
  const stored = await engine.inspect(assertKey(key));
  const ids = [...stored.holds, ...stored.waiters].map(({ id }) => id);
  const [connections] = await Promise.all([names.connected(ids), names.learn(ids)]);
  return readStoredLock(key, stored, engine.waitingFor(key), names, connections);
}

/** Turns what the store knows of a key into the public form; `null` if the key has no holder and no waiter. */
function readStoredLock(
  key: string,
  { lastToken, holds, waiters, limit }: StoredLock,
  waitingHere: number,
  names: Names,
  connections: Connections,
): LockState | null {
  if (holds.length === 0 && waiters.length === 0) return null;
  return {
    key,
    owner: holds[0]?.owner,
    holds: holds.length,
    ttl: largest(holds, ({ ttl }) => ttl, -2),
    fencingToken: largest(holds, ({ token }) => token, lastToken),
    holders: holds.map((hold) => readHolder(hold, names, connections)),
    waiters: waiters.map((waiter) => readWaiter(waiter, names, connections)),
    waitingHere,
    permits: limit ?? limitOf([...holds, ...waiters]),
  };
}

/** The number of permits that the callers name; the largest, if they differ. */
function limitOf(all: ReadonlyArray<Pick<StoredLock['holds'][number], 'mode'>>): number | undefined {
  const most = largest(all, ({ mode }) => (mode.kind === 'permits' ? mode.limit : 0), 0);
  return most === 0 ? undefined : most;
}

/** A loop, because there may be more holds than a function takes arguments. */
function largest<T>(items: readonly T[], valueOf: (item: T) => number, ifEmpty: number): number {
  return items.length === 0 ? ifEmpty : items.reduce((most, item) => Math.max(most, valueOf(item)), -Infinity);
}

const readWaiter = (
  { id, owner, mode, since }: StoredLock['waiters'][number],
  names: Names,
  connections: Connections,
): LockWaiter => ({
  id,
  owner,
  kind: mode.kind,
  units: unitsOf(mode),
  ...named(id, names, connections),
  since: new Date(since),
});

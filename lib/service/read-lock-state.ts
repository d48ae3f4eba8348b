import type { EngineContext } from '../engine/engine-context.js';
import type { LockEngine, StoredLock } from '../engine/lock-engine.js';
import { assertKey } from '../keys/index.js';
import type { LockHolder, LockState } from './lock-state.js';

/** Says whose acquisition an id is. */
type Names = Pick<EngineContext['names'], 'nameOf'>;

/** Which clients are connected, as far as it is known. */
type Connections = ReadonlyMap<string, boolean>;

/** What holds and waiters have in common. */
function named({ id, owner, mode }: StoredLock['waiters'][number], names: Names, connections: Connections) {
  const { client, label, pattern, method } = names.nameOf(id);
  const units = mode.kind === 'permits' ? mode.units : 0;
  return {
    ...{ id, owner, kind: mode.kind, units, client, label, pattern, method },
    connected: connections.get(client),
  };
}

/** Turns a hold into the public form. */
export function readHolder(hold: StoredLock['holds'][number], names: Names, connections: Connections): LockHolder {
  const { token: fencingToken, ttl, kept, since } = hold;
  const { renewedLease } = names.nameOf(hold.id);
  return { ...named(hold, names, connections), fencingToken, ttl, renewedLease, kept, since: new Date(since) };
}

/** Asks the store about a key, and whose the acquisitions are; `null` if the key has no holder and no waiter. */
export async function inspectKey(engine: LockEngine, { names }: EngineContext, key: string): Promise<LockState | null> {
  const { lastToken, holds, waiters, limit } = await engine.inspect(assertKey(key));
  const all = [...holds, ...waiters];
  if (all.length === 0) return null;
  const ids = all.map(({ id }) => id);
  const [connections] = await Promise.all([names.connected(ids), names.learn(ids)]);
  return {
    key,
    owner: holds[0]?.owner,
    holds: holds.length,
    ttl: largest(holds, ({ ttl }) => ttl, -2),
    fencingToken: largest(holds, ({ token }) => token, lastToken),
    holders: holds.map((hold) => readHolder(hold, names, connections)),
    waiters: waiters.map((waiter) => ({ ...named(waiter, names, connections), since: new Date(waiter.since) })),
    waitingHere: engine.queues.keys.get(key)?.waiting ?? 0,
    // Callers may name different numbers.
    permits: limit ?? (largest(all, ({ mode }) => (mode.kind === 'permits' ? mode.limit : 0), 0) || undefined),
  };
}

/** A loop, because there may be more holds than a function takes arguments. */
function largest<T>(items: readonly T[], valueOf: (item: T) => number, ifEmpty: number): number {
  return items.length === 0 ? ifEmpty : items.reduce((most, item) => Math.max(most, valueOf(item)), -Infinity);
}

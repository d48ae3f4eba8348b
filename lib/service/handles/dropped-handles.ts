import { LinkedList, type Linked } from '../../common/linked-list.js';
import type { Hold } from '../../engine/hold.js';
import type { LockEngine } from '../../engine/lock-engine.js';

/** After so many ms a handle may have been dropped. Most handles are released before. */
const GUARDED_AFTER = 1_000;

/** A handle that is guarded. */
export class Guard implements Linked<Guard> {
  list: object | undefined;
  before: Guard | undefined;
  behind: Guard | undefined;

  constructor(
    /** Kept while the handle is young. */
    public handle: object | undefined,
    readonly hold: Hold,
    readonly engine: LockEngine,
  ) {}
}

/** Ends the renewal of locks whose handles were garbage-collected. */
const registry = new FinalizationRegistry<Guard>(({ hold, engine }) => {
  if (hold.handles.drop()) engine.watchdog.abandon(hold);
});

/**
 * Handles that are too young to have been dropped. Registering costs as much as the rest of an acquisition, and most
 * handles are released before.
 */
const young = new LinkedList<Guard>();
let timer: NodeJS.Timeout | undefined;

/** Stops the renewal of `hold` if `handle` is garbage-collected before it is released. */
export function guardAgainstDropping(handle: object, hold: Hold, engine: LockEngine): Guard {
  const guard = new Guard(handle, hold, engine);
  young.append(guard);
  timer ??= setTimeout(register, GUARDED_AFTER).unref();
  return guard;
}

/** Ends the guard: the handle was released. */
export function unguard(guard: Guard): void {
  if (!young.remove(guard)) registry.unregister(guard);
}

function register(): void {
  timer = undefined;
  for (let guard = young.first; guard !== undefined; guard = young.first) {
    young.remove(guard);
    registry.register(guard.handle as object, guard, guard);
    guard.handle = undefined;
  }
}

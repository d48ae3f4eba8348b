import { LinkedList, type Linked } from '../../common/linked-list.js';
import type { Hold } from '../../engine/hold.js';
import type { LockEngine } from '../../engine/lock-engine.js';

/** After how many ms a handle counts as one that somebody may have dropped. */
const GROWN_UP = 1_000;

/** What is known of a guarded handle. */
export class Guard implements Linked<Guard> {
  list: object | undefined;
  before: Guard | undefined;
  behind: Guard | undefined;

  constructor(
    /** While it is young. */
    public handle: object | undefined,
    readonly hold: Hold,
    readonly engine: LockEngine,
  ) {}
}

/** Their locks are not renewed for ever. */
const registry = new FinalizationRegistry<Guard>(({ hold, engine }) => {
  if (--hold.handles === hold.forgottenHandles) engine.abandon(hold);
});

/**
 * Handles that are too young to have been dropped. To be registered costs as much as all else that the client does for
 * an acquisition, and most are released before it comes to that.
 */
const young = new LinkedList<Guard>();
let timer: NodeJS.Timeout | undefined;

/** Has it found out when `handle` is collected before it was released. */
export function guardAgainstDropping(handle: object, hold: Hold, engine: LockEngine): Guard {
  const guard = new Guard(handle, hold, engine);
  young.append(guard);
  timer ??= setTimeout(register, GROWN_UP).unref();
  return guard;
}

/** Its handle has been released. */
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

import { scopeStorage } from '../common/async-context.js';
import type { Hold } from '../engine/hold.js';
import type { LockEngine } from '../engine/lock-engine.js';
import type { HeldLock } from './handles/held-lock.js';

/**
 * The context of a call: around a running method, with the lock that it holds (which inner calls re-enter, and which
 * `currentLock()` returns), or around the handler of a request. A scope is only opened with `run`, around a function: with
 * `AsyncLocalStorage.enterWith`, two calls that start in one tick would share it.
 */
export class LockScope {
  /** What lock objects have acquired in this scope, not in an inner one, and not released. */
  private taken: Set<HeldLock> | undefined;
  private ended: string | undefined;

  private constructor(
    readonly lock: HeldLock | undefined,
    /** Nest's context of the request, if this is the scope of a request. */
    readonly request: object | undefined,
    readonly parent: LockScope | undefined,
  ) {}

  /** Makes the scope of a lock, inside the current scope. */
  static ofLock(lock: HeldLock): LockScope {
    let parent = currentScope();
    // Otherwise a task that starts itself again within its own scope would keep all its earlier scopes.
    while (parent?.lock?.isReleased) parent = parent.parent;
    return new LockScope(lock, undefined, parent);
  }

  /** Makes the scope of a request, inside the current scope. */
  static ofRequest(request: object): LockScope {
    return new LockScope(undefined, request, currentScope());
  }

  run<T>(work: () => T): T {
    return scopeStorage.run(this, work);
  }

  /** A lock object has acquired a lock here. It is not renewed after the end of the scope. */
  add(lock: HeldLock): void {
    if (this.ended !== undefined) return lock.abandon(this.ended);
    const taken = (this.taken ??= new Set());
    taken.add(lock);
    lock.onReleased = () => taken.delete(lock);
  }

  /** Stops the renewal of what lock objects have acquired here and not unlocked, or acquire here later. */
  end(): void {
    if (this.ended !== undefined) return;
    this.ended = `was acquired through a Lock object and not unlocked before its ${this.request ? 'request' : 'scope'} ended`;
    for (const lock of this.taken ?? []) lock.abandon(this.ended);
  }
}

/** The innermost scope around the caller. */
export const currentScope = (): LockScope | undefined => scopeStorage.getStore() as LockScope | undefined;

/** Returns what `pick` finds first, from the innermost lock around the caller outwards. */
export function findInScope<T>(pick: (lock: HeldLock) => T | undefined): T | undefined {
  for (let scope = currentScope(); scope !== undefined; scope = scope.parent) {
    const found = scope.lock === undefined ? undefined : pick(scope.lock);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The innermost hold of a key in the scopes around the caller that belongs to a client and fits. */
export function findHold(engine: LockEngine, key: string, fits: (hold: Hold) => boolean): Hold | undefined {
  return findInScope((lock) => {
    const hold = lock.engine === engine ? lock.holdOf(key) : undefined;
    return hold?.isHeld && fits(hold) ? hold : undefined;
  });
}

/** Whether the caller runs in the scope of a request. */
export function isWithinRequest(request: object): boolean {
  for (let scope = currentScope(); scope !== undefined; scope = scope.parent) {
    if (scope.request === request) return true;
  }
  return false;
}

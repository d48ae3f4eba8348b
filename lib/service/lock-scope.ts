import { scopeStorage } from '../common/caller-context.js';
import type { OwnHandle } from './handles/held-locks.js';
import { TakenLocks } from './objects/taken-locks.js';

/** From so many lock objects on, a scope removes unused ones. */
const MANY_OBJECTS = 32;

/**
 * The context of a call: around a running method, with the lock that it holds (which inner calls re-enter, and which
 * `currentLock()` returns), or around the handler of a request. A scope is only opened with `run`, around a function: with
 * `AsyncLocalStorage.enterWith`, two calls that start in one tick would share it.
 */
export class LockScope {
  /** What was acquired in this scope, and not in an inner one, by lock object. */
  private taken: Map<object, TakenLocks> | undefined;
  private manyObjects = MANY_OBJECTS;
  private ended: string | undefined;

  private constructor(
    readonly lock: OwnHandle | undefined,
    /** Nest's context of the request, if this is the scope of a request. */
    readonly request: object | undefined,
    readonly parent: LockScope | undefined,
  ) {}

  /** Makes the scope of a lock, inside the current scope. */
  static ofLock(lock: OwnHandle): LockScope {
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

  /** What was acquired here through a lock object. `memory`: see `TakenLocks`. */
  takenThrough(object: object, memory: number): TakenLocks {
    this.taken ??= new Map();
    let taken = this.taken.get(object);
    if (taken === undefined) {
      if (this.taken.size >= this.manyObjects) this.forgetUnused();
      taken = new TakenLocks(memory);
      if (this.ended !== undefined) taken.end(this.ended);
      this.taken.set(object, taken);
    }
    return taken;
  }

  /** What was acquired here through a lock object, if it was used here before. */
  takenBefore(object: object): TakenLocks | undefined {
    return this.taken?.get(object);
  }

  /** Stops the renewal of what lock objects have acquired here and not unlocked, or acquire here later. */
  end(): void {
    if (this.ended !== undefined) return;
    this.ended = `was acquired through a Lock object and not unlocked before its ${this.request ? 'request' : 'scope'} ended`;
    for (const taken of this.taken?.values() ?? []) taken.end(this.ended);
  }

  /** A long scope may use any number of objects, one after another. */
  private forgetUnused(): void {
    for (const [object, taken] of this.taken!) if (!taken.isInUse) this.taken!.delete(object);
    this.manyObjects = Math.max(MANY_OBJECTS, 2 * this.taken!.size);
  }
}

/** The innermost scope around the caller. */
export const currentScope = (): LockScope | undefined => scopeStorage.getStore() as LockScope | undefined;

/** Returns what `pick` finds first, from the innermost lock around the caller outwards. */
export function findInScope<T>(pick: (lock: OwnHandle) => T | undefined): T | undefined {
  for (let scope = currentScope(); scope !== undefined; scope = scope.parent) {
    const found = scope.lock === undefined ? undefined : pick(scope.lock);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether the caller runs in the scope of a request. */
export function isWithinRequest(request: object): boolean {
  for (let scope = currentScope(); scope !== undefined; scope = scope.parent) {
    if (scope.request === request) return true;
  }
  return false;
}

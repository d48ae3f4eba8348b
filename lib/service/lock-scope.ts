import { AsyncLocalStorage } from 'node:async_hooks';
import type { OwnHandle } from './handles/own-handle.js';
import { TakenLocks } from './objects/taken-locks.js';

/** From how many `Lock` objects on a scope looks for those that are not used any more. */
const MANY_OBJECTS = 32;

/**
 * The context of a call: around a running method, with the lock that it holds (what re-enters, and what `currentLock()`
 * gives), or around the handler of a request. A scope is only ever opened with `run`, around a function: two calls that start
 * in one tick would share one that is entered.
 */
export class LockScope {
  /** What was taken within this scope, and not within one inside of it, by the `Lock` object. */
  private taken: Map<object, TakenLocks> | undefined;
  private manyObjects = MANY_OBJECTS;
  private ended: string | undefined;

  private constructor(
    readonly lock: OwnHandle | undefined,
    /** What Nest knows of the request, where it is the scope of one. */
    readonly request: object | undefined,
    readonly parent: LockScope | undefined,
  ) {}

  /** The scope of a lock, inside of the present one. */
  static ofLock(lock: OwnHandle): LockScope {
    let parent = currentScope();
    // A task that starts itself again from within its own scope would otherwise keep every scope that it ever had.
    while (parent?.lock?.isReleased) parent = parent.parent;
    return new LockScope(lock, undefined, parent);
  }

  /** The scope of a request, inside of the present one. */
  static ofRequest(request: object): LockScope {
    return new LockScope(undefined, request, currentScope());
  }

  run<T>(work: () => T): T {
    return storage.run(this, work);
  }

  /** What was taken here through a `Lock` object. */
  takenThrough(object: object): TakenLocks {
    this.taken ??= new Map();
    let taken = this.taken.get(object);
    if (taken === undefined) {
      if (this.taken.size >= this.manyObjects) this.forgetUnused();
      taken = new TakenLocks();
      this.taken.set(object, taken);
    }
    return taken;
  }

  /** Whether something that was taken through a `Lock` object has not been unlocked. */
  get hasTaken(): boolean {
    return this.taken !== undefined && [...this.taken.values()].some(({ isInUse }) => isInUse);
  }

  /** Nothing is renewed any more that was taken here through `Lock` objects and has not been unlocked. */
  end(): void {
    if (this.taken === undefined || this.ended !== undefined) return;
    this.ended = `was taken through a Lock object and not unlocked before its ${this.request ? 'request' : 'scope'} ended`;
    for (const taken of this.taken.values()) taken.end(this.ended);
  }

  /** A long scope may use any number of objects, one after the other. */
  private forgetUnused(): void {
    for (const [object, taken] of this.taken!) if (!taken.isInUse) this.taken!.delete(object);
    this.manyObjects = Math.max(MANY_OBJECTS, 2 * this.taken!.size);
  }
}

/** Two loaded copies of the package see each other's scopes. */
const STORAGE = Symbol.for('nestjs-redis-locks:scope');
const shared = globalThis as { [STORAGE]?: AsyncLocalStorage<LockScope> };
const storage = (shared[STORAGE] ??= new AsyncLocalStorage<LockScope>());

/** The innermost scope around the caller. */
export const currentScope = (): LockScope | undefined => storage.getStore();

/** What `pick` finds first, from the innermost lock around the caller outwards. */
export function findInScope<T>(pick: (lock: OwnHandle) => T | undefined): T | undefined {
  for (let scope = currentScope(); scope !== undefined; scope = scope.parent) {
    const found = scope.lock === undefined ? undefined : pick(scope.lock);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether the scope of a request has been opened around the caller. */
export function isWithinRequest(request: object): boolean {
  for (let scope = currentScope(); scope !== undefined; scope = scope.parent) {
    if (scope.request === request) return true;
  }
  return false;
}

import type { HeldLock } from './held-lock.js';

/** The handles of named owners, so that each caller that names the owner can unlock. */
export class OwnerHandles {
  private readonly handles = new Map<string, HeldLock[]>();

  /** The held handles of one owner for these keys, the latest last. */
  of(keys: readonly string[], owner: string): HeldLock[] {
    return (this.handles.get(nameOf(keys, owner)) ?? []).filter((handle) => handle.isHeld);
  }

  add(handle: HeldLock, owner: string): void {
    const name = nameOf(handle.keys, owner);
    this.handles.set(name, [...(this.handles.get(name) ?? []), handle]);
    const remove = (): void => {
      const rest = (this.handles.get(name) ?? []).filter((other) => other !== handle);
      if (rest.length === 0) this.handles.delete(name);
      else this.handles.set(name, rest);
    };
    handle.onReleased = remove;
    handle.onLost(remove);
  }
}

/** Owners and keys contain no line break. */
const nameOf = (keys: readonly string[], owner: string): string => [owner, ...[...keys].sort()].join('\n');

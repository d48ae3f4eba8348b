import type { HeldLock } from './held-lock.js';

/** The handles of owners that callers named, so that whoever names the owner can unlock. */
export class OwnerHandles {
  private readonly handles = new Map<string, HeldLock[]>();

  /** Those of one owner of a key, the latest last. */
  of(key: string, owner: string): HeldLock[] {
    return (this.handles.get(nameOf(key, owner)) ?? []).filter((handle) => handle.isHeld);
  }

  add(handle: HeldLock): void {
    const name = nameOf(handle.key, handle.owner);
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

/** Neither an owner nor a key has a line break. */
const nameOf = (key: string, owner: string): string => `${owner}\n${key}`;

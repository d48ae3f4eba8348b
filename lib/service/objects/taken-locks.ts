import type { OwnHandle } from '../handles/own-handle.js';

/** At most so many lost locks are kept until their `unlock()`: some calls never unlock. */
const MOST_LOST = 100;

/**
 * What calls have acquired through one `Lock` object in one context: `unlock()` can release only that.
 *
 * Calls of one context cannot be distinguished. If a call that holds nothing may still call `unlock()` in its `finally`, the
 * next `unlock()` may belong to that call or to the holder. So it releases nothing.
 */
export class TakenLocks {
  /** The acquired handles that were neither unlocked nor released, the latest last. Lost ones still await their `unlock()`. */
  private handles: OwnHandle[] = [];
  private pending = 0;
  /** Calls that got nothing while another call held or awaited the lock, and have not called `unlock()` since. */
  private strays = 0;
  /** The latest call got nothing, while no other call held or awaited the lock. */
  private failed = false;
  /** Why earlier requests are not renewed any more: the context has ended. */
  private ended: string | undefined;

  get isHeld(): boolean {
    return this.held().length > 0;
  }

  /** Whether a call has acquired the lock and not unlocked it, or is acquiring it. */
  get isInUse(): boolean {
    return this.pending > 0 || this.isHeld;
  }

  /** What `unlock()` releases; `undefined`: nothing is held, or `unlock()` may belong to another call. */
  get latest(): OwnHandle | undefined {
    const held = this.held();
    return this.strays > 0 || held.length < this.handles.length ? undefined : held.at(-1);
  }

  /**
   * @param inUse makes the error to throw instead of `null` if another call holds or awaits the lock
   * @throws what `acquire` rejects with
   */
  async take<T extends OwnHandle | null>(acquire: () => Promise<T>, inUse: () => Error): Promise<T> {
    const begunInTime = this.ended === undefined;
    this.pending += 1;
    let handle: T;
    try {
      handle = await acquire();
    } catch (error) {
      this.pending -= 1;
      this.gotNothing();
      throw error;
    }
    this.pending -= 1;
    if (handle === null) {
      if (this.gotNothing()) throw inUse();
      return handle;
    }
    this.held();
    this.failed = false;
    this.handles.push(handle);
    if (begunInTime && this.ended !== undefined) this.abandon(this.ended);
    return handle;
  }

  /** A call got nothing; returns whether another call holds or awaits the lock. */
  gotNothing(): boolean {
    this.failed = !this.isInUse;
    if (!this.failed) this.strays += 1;
    return !this.failed;
  }

  /** An `unlock()` has released nothing, so one call fewer remains. Returns which call it may have belonged to. */
  refused(): 'lost' | 'failed' | undefined {
    if (this.strays > 0) {
      this.strays -= 1;
      return 'failed';
    }
    const lost = this.handles.findIndex(({ isHeld }) => !isHeld);
    if (lost >= 0) {
      this.handles.splice(lost, 1);
      return 'lost';
    }
    const { failed } = this;
    this.failed = false;
    return failed ? 'failed' : undefined;
  }

  /** Stops the renewal of all held locks: they end with their lease, unless their handles are released before. */
  abandon(why: string): void {
    for (const handle of this.held()) handle.abandon(why);
  }

  /** The context has ended: a lock that is granted later to one of its calls is not renewed, either. */
  end(why: string): void {
    this.ended = why;
    this.abandon(why);
  }

  /** Removes handles whose locks were released by force. The handles themselves learn it later. */
  forget(ended: readonly OwnHandle[]): void {
    this.handles = this.handles.filter((handle) => !ended.includes(handle));
  }

  /** The held handles, the latest last. */
  held(): OwnHandle[] {
    // Check `isHeld` first: a handle notices by the clock that its lock was lost.
    const held = this.handles.filter(({ isHeld }) => isHeld);
    if (held.length < this.handles.length) {
      const open = this.handles.filter((handle) => handle.isHeld || !(handle.isReleased || handle.isAbandoned));
      this.handles = open.length - held.length > MOST_LOST ? held : open;
    }
    if (held.length === 0 && this.pending === 0) this.strays = 0;
    return held;
  }
}

import type { OwnHandle } from '../handles/own-handle.js';

/** How many calls are remembered that lost their lock and have not unlocked it yet: some never do. */
const MOST_LOST = 100;

/**
 * What the calls through one `Lock` object have taken in one context: that is what `unlock()` can release there.
 *
 * Calls of one context cannot be told apart. If a call that holds nothing may still call `unlock()` in its `finally`, the next
 * `unlock()` may be its own or that of the call that holds the lock, and it releases nothing.
 */
export class TakenLocks {
  /** What was taken and neither unlocked nor released since, the latest last. What was lost is still to be unlocked. */
  private handles: OwnHandle[] = [];
  private pending = 0;
  /** Calls that got nothing while another one held or awaited the lock, and have not called `unlock()` since. */
  private strays = 0;
  /** The latest call got nothing, while no other held or awaited the lock. */
  private failed = false;
  /** Why nothing that was asked for until then is renewed any more: the context has ended. */
  private ended: string | undefined;

  get isHeld(): boolean {
    return this.held().length > 0;
  }

  /** Whether a call has taken the lock and not unlocked it, or is on its way. */
  get isInUse(): boolean {
    return this.pending > 0 || this.isHeld;
  }

  /** What `unlock()` releases; `undefined`: nothing, or nobody can tell whose `unlock()` it would be. */
  get latest(): OwnHandle | undefined {
    const held = this.held();
    return this.strays > 0 || held.length < this.handles.length ? undefined : held.at(-1);
  }

  /**
   * @param inUse what is thrown in place of `null` where another call holds or awaits the lock
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

  /** A call got nothing; answers whether another one holds or awaits the lock. */
  gotNothing(): boolean {
    this.failed = !this.isInUse;
    if (!this.failed) this.strays += 1;
    return !this.failed;
  }

  /** An `unlock()` has released nothing: what remains is that of one call less. Answers whose it may have been. */
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

  /** Nothing that is held is renewed any more: it ends with its lease, unless its handle is released before. */
  abandon(why: string): void {
    for (const handle of this.held()) handle.abandon(why);
  }

  /** The context has ended: what was asked for in it and is granted later is not renewed, either. */
  end(why: string): void {
    this.ended = why;
    this.abandon(why);
  }

  /** All that is held here has been ended by force; the handles hear of it later. */
  forget(ended: readonly OwnHandle[]): void {
    this.handles = this.handles.filter((handle) => !ended.includes(handle));
  }

  /** What is held, the latest last. */
  held(): OwnHandle[] {
    // Whether it is held is asked first: a handle finds out by the clock that it has been lost.
    const held = this.handles.filter(({ isHeld }) => isHeld);
    if (held.length < this.handles.length) {
      const open = this.handles.filter((handle) => handle.isHeld || !(handle.isReleased || handle.isAbandoned));
      this.handles = open.length - held.length > MOST_LOST ? held : open;
    }
    if (held.length === 0 && this.pending === 0) this.strays = 0;
    return held;
  }
}

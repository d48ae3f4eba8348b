import type { HeldLock } from '../handles/held-lock.js';

/** At most so many lost locks are kept until their `unlock()`: some calls never unlock. */
const MOST_LOST = 100;

/** A lock that was acquired, and whose call has not unlocked it. */
interface Taken {
  readonly handle: HeldLock;
  /** When it was found to be lost or released by force, by `performance.now()`. Its `unlock()` may still come. */
  endedAt: number | undefined;
  /** Its own `unlock()`, or that of a call before it, has been refused while it was held. */
  isSettled: boolean;
}

/**
 * What calls have acquired through one lock object in one context: `unlock()` can release only that.
 *
 * Calls of one context cannot be distinguished. If a call that holds nothing may still call `unlock()` in its `finally`, the
 * next `unlock()` may belong to that call or to the holder. So it releases nothing. A call that got nothing while no other call
 * held or awaited the lock is expected not to unlock. A call whose lock was lost may unlock for as long as `memory` ms.
 */
export class TakenLocks {
  /** What was neither unlocked nor released, the latest last. Lost locks still await their `unlock()`. */
  private taken: Taken[] = [];
  private pending = 0;
  /** Calls that got nothing while another call held or awaited the lock, and have not called `unlock()` since. */
  private strays = 0;
  /** The latest call got nothing, while no other call held or awaited the lock. */
  private failed = false;

  constructor(private readonly memory: number) {}

  get isHeld(): boolean {
    return this.held().length > 0;
  }

  /** Whether a call has acquired the lock and not unlocked it, or is acquiring it. */
  get isInUse(): boolean {
    return this.pending > 0 || this.isHeld;
  }

  /** What `unlock()` releases; `undefined`: nothing is held, or `unlock()` may belong to another call. */
  get latest(): HeldLock | undefined {
    const held = this.held();
    return this.strays > 0 || held.length < this.taken.length ? undefined : held.at(-1)?.handle;
  }

  /**
   * @param inUse makes the error to throw instead of `null` if another call holds or awaits the lock
   * @throws what `acquire` rejects with
   */
  async take<T extends HeldLock | null>(acquire: () => Promise<T>, inUse: () => Error): Promise<T> {
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
    this.failed = false;
    this.taken.push({ handle, endedAt: undefined, isSettled: false });
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
    const held = this.held();
    const lost = this.taken.findIndex(({ endedAt }) => endedAt !== undefined);
    if (lost >= 0) {
      this.taken.splice(lost, 1);
      for (const each of held) each.isSettled = true;
      return 'lost';
    }
    const { failed } = this;
    this.failed = false;
    return failed ? 'failed' : undefined;
  }

  /** Stops the renewal of all held locks: they end with their lease, unless their handles are released before. */
  abandon(why: string): void {
    const held = this.held();
    const someLost = held.length < this.taken.length;
    for (const each of held) {
      each.isSettled ||= someLost;
      each.handle.abandon(why);
    }
  }

  /** Everything that is held will have been released by force. The handles themselves learn it later. */
  forceReleasing(): () => void {
    const held = this.held();
    return () => {
      for (const each of held) each.endedAt = performance.now();
    };
  }

  /** The held locks, the latest last. */
  private held(): Taken[] {
    const now = performance.now();
    this.taken = this.taken.filter((each) => this.isOpen(each, now));
    const held = this.taken.filter(({ endedAt }) => endedAt === undefined);
    if (this.taken.length - held.length > MOST_LOST) this.taken = held;
    if (held.length === 0 && this.pending === 0) this.strays = 0;
    return held;
  }

  /** Whether an `unlock()` may still belong to a lock. */
  private isOpen(taken: Taken, now: number): boolean {
    const { handle } = taken;
    // A handle notices by the clock that its lock was lost.
    if (taken.endedAt === undefined && handle.isHeld) return true;
    if (handle.isReleased || taken.isSettled) return false;
    taken.endedAt ??= now;
    return now - taken.endedAt < this.memory;
  }
}

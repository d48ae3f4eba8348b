import type { Waiter } from './waiter.js';

/** Waiters in the order in which they came; they are linked themselves, so that one costs nothing beside itself. */
export class WaiterList {
  first: Waiter | undefined;
  private last: Waiter | undefined;

  has(waiter: Waiter): boolean {
    return waiter.list === this;
  }

  append(waiter: Waiter): void {
    waiter.list = this;
    waiter.before = this.last;
    if (this.last === undefined) this.first = waiter;
    else this.last.behind = waiter;
    this.last = waiter;
  }

  /** Answers whether it was there. */
  remove(waiter: Waiter): boolean {
    if (waiter.list !== this) return false;
    const { before, behind } = waiter;
    if (before === undefined) this.first = behind;
    else before.behind = behind;
    if (behind === undefined) this.last = before;
    else behind.before = before;
    waiter.list = waiter.before = waiter.behind = undefined;
    return true;
  }
}

/** An item that can be in one linked list. */
export interface Linked<T> {
  list: object | undefined;
  before: T | undefined;
  behind: T | undefined;
}

/** Items in the order in which they were appended. The items carry the links, so an entry needs no further memory. */
export class LinkedList<T extends Linked<T>> {
  first: T | undefined;
  size = 0;
  private last: T | undefined;

  append(item: T): void {
    item.list = this;
    item.before = this.last;
    if (this.last === undefined) this.first = item;
    else this.last.behind = item;
    this.last = item;
    this.size += 1;
  }

  /** A copy of the items, in order. */
  items(): T[] {
    const items: T[] = [];
    for (let item = this.first; item !== undefined; item = item.behind) items.push(item);
    return items;
  }

  /** Removes all items, and returns them in order. */
  takeAll(): T[] {
    const items = this.items();
    for (const item of items) this.remove(item);
    return items;
  }

  has(item: T): boolean {
    return item.list === this;
  }

  /** Removes an item; returns whether it was in the list. */
  remove(item: T): boolean {
    if (item.list !== this) return false;
    const { before, behind } = item;
    if (before === undefined) this.first = behind;
    else before.behind = behind;
    if (behind === undefined) this.last = before;
    else behind.before = before;
    this.size -= 1;
    item.list = item.before = item.behind = undefined;
    return true;
  }
}

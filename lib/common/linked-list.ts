/** Something that can stand in one linked list. */
export interface Linked<T> {
  list: object | undefined;
  before: T | undefined;
  behind: T | undefined;
}

/** Things in the order in which they came. They are linked themselves, so that a place costs nothing beside them. */
export class LinkedList<T extends Linked<T>> {
  first: T | undefined;
  private last: T | undefined;

  append(item: T): void {
    item.list = this;
    item.before = this.last;
    if (this.last === undefined) this.first = item;
    else this.last.behind = item;
    this.last = item;
  }

  has(item: T): boolean {
    return item.list === this;
  }

  /** Answers whether it was there. */
  remove(item: T): boolean {
    if (item.list !== this) return false;
    const { before, behind } = item;
    if (before === undefined) this.first = behind;
    else before.behind = behind;
    if (behind === undefined) this.last = before;
    else behind.before = before;
    item.list = item.before = item.behind = undefined;
    return true;
  }
}

/** A map moves after so many deletions, if they are at least as many as its entries. */
const MOVES_AFTER = 256;

/**
 * The key of an entry that is never deleted. V8 allocates a new table whenever a map becomes empty, which costs as much as
 * the rest of `set` and `delete`.
 */
const STAYS = Symbol('stays');

/**
 * A map for entries that live briefly. When a `Map` is full of deleted entries, V8 gives it a new table, and the old table
 * refers to the new one (`OrderedHashTable::SetNextTable`, for iterators that are under way). Once a table has reached the
 * old generation, all later entries survive there until the next full collection: 4 kB for each lock, and most of the CPU
 * time of a client. This map moves to a fresh `Map` from time to time, to which no old table refers.
 */
export class TransientMap<K, V> {
  private map = new Map<K | typeof STAYS, V>([[STAYS, undefined as V]]);
  private deletions = 0;

  get size(): number {
    return this.map.size - 1;
  }

  get(key: K): V | undefined {
    return this.map.get(key);
  }

  has(key: K): boolean {
    return this.map.has(key);
  }

  set(key: K, value: V): void {
    this.map.set(key, value);
  }

  delete(key: K): boolean {
    if (!this.map.delete(key)) return false;
    this.deletions += 1;
    if (this.deletions >= MOVES_AFTER && this.deletions >= this.map.size) {
      this.map = new Map(this.map);
      this.deletions = 0;
    }
    return true;
  }

  /** A copy of the values, in the order of insertion. */
  values(): V[] {
    const [, ...values] = this.map.values();
    return values;
  }
}

/** A set for items that live briefly; see `TransientMap`. */
export class TransientSet<T> {
  private readonly map = new TransientMap<T, T>();

  get size(): number {
    return this.map.size;
  }

  add(item: T): void {
    this.map.set(item, item);
  }

  delete(item: T): boolean {
    return this.map.delete(item);
  }

  /** A copy of the items, in the order of insertion. */
  values(): T[] {
    return this.map.values();
  }
}

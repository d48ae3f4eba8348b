/** After so many deletions, and as many as there are entries, a map moves. */
const MOVES_AFTER = 256;

/**
 * A map for entries that come and go all the time. When JavaScript's own has no room but for its deleted entries, V8 gives
 * it a new table, and has the old one refer to it (`OrderedHashTable::SetNextTable`, for iterators that are under way).
 * Once one of its tables has reached the old generation, everything that has been in the map since survives there until
 * the next full collection: 4 kB for each lock, and most of the time that a client took for it. This one moves to a fresh
 * map from time to time, of which no old table knows.
 */
export class TransientMap<K, V> {
  private map = new Map<K, V>();
  private deletions = 0;

  get size(): number {
    return this.map.size;
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

  /** As they are now, in the order in which they came. */
  values(): V[] {
    return [...this.map.values()];
  }
}

/** A set of the same kind. */
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

  /** As it is now, in the order in which they came. */
  values(): T[] {
    return this.map.values();
  }
}

/** A value that may be dropped after some time. */
export interface Expiring {
  isExpired(now: number): boolean;
}

/** How many entries each addition looks at: more than one, so that expired entries do not pile up. */
const LOOKS = 2;

/**
 * A map that drops expired entries, a few with each addition. So it does not grow without bound, and needs no timer.
 */
export class ExpiringMap<T extends Expiring> {
  private readonly entries = new Map<string, T>();
  private looking = this.entries.entries();

  get size(): number {
    return this.entries.size;
  }

  get(key: string, now: number): T | undefined {
    const entry = this.entries.get(key);
    if (entry?.isExpired(now) !== true) return entry;
    this.entries.delete(key);
    return undefined;
  }

  set(key: string, entry: T, now: number): void {
    for (let looks = 0; looks < LOOKS; looks++) this.lookAtNext(now);
    this.entries.set(key, entry);
  }

  delete(key: string): void {
    this.entries.delete(key);
  }

  values(): Iterable<T> {
    return this.entries.values();
  }

  private lookAtNext(now: number): void {
    const { done, value } = this.looking.next();
    if (done === true) this.looking = this.entries.entries();
    else if (value[1].isExpired(now)) this.entries.delete(value[0]);
  }
}

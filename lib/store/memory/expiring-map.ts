/** Something that is worth keeping for a time only. */
export interface Expiring {
  isExpired(now: number): boolean;
}

/** How many entries are looked at whenever one is added: more than one, so that what is over grows less. */
const LOOKS = 2;

/** Forgets what is over, a little at each addition; so nothing grows, without a timer. */
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

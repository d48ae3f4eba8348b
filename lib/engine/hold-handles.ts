/** Counts the handles that share a hold. The last release of a handle releases the hold. */
export class HoldHandles {
  private open = 0;
  private forgotten = 0;

  /** How many handles are not released. */
  get count(): number {
    return this.open;
  }

  /** Whether exactly one handle is left that a caller may still release. */
  get isLast(): boolean {
    return this.open - this.forgotten === 1;
  }

  add(): void {
    this.open += 1;
  }

  /** A handle was released. */
  remove(): void {
    this.open -= 1;
  }

  /** A handle will not be released; returns whether no handle is left that may be. */
  forget(): boolean {
    this.forgotten += 1;
    return this.forgotten === this.open;
  }

  /** A forgotten handle is released after all. */
  reclaim(): void {
    this.forgotten -= 1;
  }

  /** A handle was garbage-collected; returns whether no handle is left that a caller may release. */
  drop(): boolean {
    this.open -= 1;
    return this.open === this.forgotten;
  }
}

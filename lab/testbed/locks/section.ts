import { setTimeout as sleep } from 'node:timers/promises';

/** Notices callers that are in a section together. */
export class Section {
  /** How many callers were in it at the same time, at most. */
  most = 0;
  /** How many callers have passed it. Read before a pause and written after it, so two callers at once lose an update. */
  entries = 0;
  private inside = 0;

  /** Resolves to the number of this passage. The pause lets every other caller enter that can. */
  async pass(pause: () => Promise<unknown> = () => sleep(3)): Promise<number> {
    this.most = Math.max(this.most, ++this.inside);
    const entry = this.entries + 1;
    await pause();
    this.entries = entry;
    this.inside -= 1;
    return entry;
  }
}

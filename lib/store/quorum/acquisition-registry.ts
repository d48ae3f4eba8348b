import type { Acquisition } from './acquisition.js';

/** The registry is swept for the first time when it has this many acquisitions. */
const SWEEP_AT = 1_000;

/** The acquisitions of a client by their ids, until they are released. */
export class AcquisitionRegistry {
  private readonly acquisitions = new Map<string, Acquisition>();
  private sweepAt = SWEEP_AT;

  get size(): number {
    return this.acquisitions.size;
  }

  get(id: string): Acquisition | undefined {
    return this.acquisitions.get(id);
  }

  values(): Iterable<Acquisition> {
    return this.acquisitions.values();
  }

  set(id: string, acquisition: Acquisition, now: number): void {
    if (this.acquisitions.size >= this.sweepAt) this.sweep(now);
    this.acquisitions.set(id, acquisition);
  }

  delete(id: string): void {
    this.acquisitions.delete(id);
  }

  releaseAll(): void {
    for (const acquisition of this.acquisitions.values()) acquisition.release();
    this.acquisitions.clear();
  }

  /** Removes holds that have expired: no caller releases them. */
  private sweep(now: number): void {
    for (const [id, { majority }] of this.acquisitions) {
      if (majority !== undefined && majority.until < now) this.acquisitions.delete(id);
    }
    this.sweepAt = Math.max(SWEEP_AT, 2 * this.acquisitions.size);
  }
}

import type { Clock } from './clock.js';
import type { LockLogger } from './logger.js';

/** A repeated warning is logged again after this many ms. */
const AGAIN = 60_000;
/** The warnings that are remembered. Beyond them, the oldest one is logged again at its next occurrence. */
const MOST_REMEMBERED = 200;

/** Logs a warning at once, and its repetitions as a number, once a minute at most: an outage concerns many calls. */
export class RepeatedWarnings {
  private readonly remembered = new Map<string, { readonly at: number; more: number }>();

  constructor(
    private readonly logger: LockLogger,
    private readonly clock: Clock,
  ) {}

  /** `about`: what makes two warnings equal. Returns whether the line was logged. */
  warn(about: string, message: string): boolean {
    const now = this.clock.now();
    const last = this.remembered.get(about);
    if (last !== undefined && now - last.at < AGAIN) {
      last.more += 1;
      return false;
    }
    const [oldest] = this.remembered.keys();
    if (last === undefined && this.remembered.size >= MOST_REMEMBERED) this.remembered.delete(oldest!);
    this.remembered.delete(about);
    this.remembered.set(about, { at: now, more: 0 });
    const seconds = last === undefined ? 0 : Math.round((now - last.at) / 1_000);
    this.logger.warn(last?.more ? `${message} (and ${last.more} more times in the last ${seconds} s)` : message);
    return true;
  }
}

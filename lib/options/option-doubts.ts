import { parseDuration } from '../common/duration.js';
import { LONGEST_DOUBTFUL_WAIT } from './option-readers.js';

/** Options that were written side by side. */
export interface DoubtfulOptions {
  readonly expire?: unknown;
  readonly maxRenewTimes?: unknown;
  readonly waitTimeout?: unknown;
}

/** What is allowed and probably a mistake, as warnings for whoever wrote it. The options themselves have been checked. */
export function doubtsAbout(label: string, { expire, maxRenewTimes, waitTimeout }: DoubtfulOptions): string[] {
  const doubts: string[] = [];
  if (Number(parseDuration(expire)) > 0 && Number(maxRenewTimes) > 0) {
    doubts.push(
      `${label}: maxRenewTimes has no effect beside expire, a fixed lease, which is not renewed: leave one of them out.`,
    );
  }
  if (typeof waitTimeout === 'number' && waitTimeout >= 1 && waitTimeout <= LONGEST_DOUBTFUL_WAIT) {
    doubts.push(
      `${label}: waitTimeout is ${waitTimeout}, which is in milliseconds: write '${waitTimeout}s' if seconds were meant, ` +
        `or '${waitTimeout}ms'.`,
    );
  }
  return doubts;
}

/** So many different doubts are told at most: patterns may be made anew for each call. */
const MOST_DOUBTS = 100;

/** Tells each doubt once. */
export class Doubts {
  private readonly told = new Set<string>();

  constructor(private readonly tell: (doubt: string) => void) {}

  about(label: string, options: DoubtfulOptions): void {
    for (const doubt of doubtsAbout(label, options)) {
      if (this.told.has(doubt) || this.told.size >= MOST_DOUBTS) continue;
      this.told.add(doubt);
      this.tell(doubt);
    }
  }
}

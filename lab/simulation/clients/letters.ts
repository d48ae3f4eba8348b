import type { HoldMode } from '../../../lib/engine/hold.js';
import type { Process } from '../world/process.js';

/** A lock that a caller has offered. */
export interface Letter {
  readonly from: Process;
  readonly key: string;
  readonly mode: HoldMode;
  /** The id of the offer. */
  readonly offer: string;
}

/** The locks that callers have offered. Two other callers get to know each of them, and one may adopt it. */
export class Letters {
  private readonly open: Letter[] = [];

  post(letter: Letter): void {
    this.open.push(letter, letter);
  }

  /** The next letter that another process has posted. */
  take(process: Process): Letter | undefined {
    const place = this.open.findIndex(({ from }) => from !== process);
    return place < 0 ? undefined : this.open.splice(place, 1)[0];
  }
}

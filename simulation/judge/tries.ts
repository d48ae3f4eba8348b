import type { World } from '../world/world.js';
import { Violation } from './violation.js';

/** ms by which it may be earlier or later that somebody had a key that a single try was refused: some messages. */
const SLACK = 60;

/** Of several callers who try a free key once, one gets it. */
export class TriesRule {
  /** When somebody had a key last, as far as that is over. */
  private readonly lastHad = new Map<string, number>();

  constructor(
    private readonly world: World,
    /** Nobody is disturbed, and nothing is lost: a holder that is gone has its votes until its lease ends. */
    private readonly isCalm: boolean,
    private readonly isHad: (key: string) => boolean,
    private readonly fail: (violation: Violation) => void,
  ) {}

  /** Somebody has a key, or had it until now; or it is kept for its `holdAtLeast`. */
  had(key: string, until = this.world.now): void {
    this.lastHad.set(key, Math.max(until, this.lastHad.get(key) ?? 0));
  }

  /** A caller that asked then was told that others have the key. */
  refused(key: string, asked: number): void {
    const wasHad = (): boolean => this.isHad(key) || (this.lastHad.get(key) ?? -Infinity) >= asked - SLACK;
    if (!this.isCalm || wasHad()) return;
    this.world.at(this.world.now + SLACK, () => {
      if (!wasHad()) this.fail(new Violation('tries', `a caller was refused '${key}', which was free`));
    });
  }
}

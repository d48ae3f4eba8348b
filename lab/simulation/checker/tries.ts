import type { World } from '../world/world.js';
import { Violation } from './violation.js';

/**
 * ms of tolerance between a refused single try and the moment at which another caller held the key: a few messages, and
 * the pauses of waiters that have split the masters (8, 16, 32 and 64 ms).
 */
const SLACK = 60 + 120;

/** If several callers try a free key once, one of them gets it. */
export class TriesRule {
  /** When a caller last held a key, for holds that have ended. */
  private readonly lastHad = new Map<string, number>();

  constructor(
    private readonly world: World,
    /** No process is disturbed, and no message is lost: a holder that is gone has its votes until its lease ends. */
    private readonly isCalm: boolean,
    private readonly isHad: (key: string) => boolean,
    private readonly fail: (violation: Violation) => void,
  ) {}

  /** A caller holds a key, or held it until now, or the key is kept for its `holdAtLeast`. */
  had(key: string, until = this.world.now): void {
    this.lastHad.set(key, Math.max(until, this.lastHad.get(key) ?? 0));
  }

  /** A caller that asked at `asked` was refused because other callers held the key. */
  refused(key: string, asked: number): void {
    const wasHad = (): boolean => this.isHad(key) || (this.lastHad.get(key) ?? -Infinity) >= asked - SLACK;
    if (!this.isCalm || wasHad()) return;
    this.world.at(this.world.now + SLACK, () => {
      if (!wasHad()) this.fail(new Violation('tries', `a caller was refused '${key}', which was free`));
    });
  }
}

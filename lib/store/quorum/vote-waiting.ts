import { graceAfter } from './gather.js';
import type { MemberState } from './member-state.js';
import type { QuorumContext } from './quorum-context.js';
import { answeredAt, decisionOf, heldAt, type QuorumDecision } from './quorum-decision.js';
import { WakeSignal } from './wake-signal.js';

/** Waits for the votes of one acquisition. `wake` is called whenever a vote may have changed. */
export class VoteWaiting {
  private readonly signal: WakeSignal;

  constructor(
    private readonly states: readonly MemberState[],
    private readonly context: QuorumContext,
    /** `false` once the acquisition has ended. */
    private readonly isWanted: () => boolean,
  ) {
    this.signal = new WakeSignal(context.clock);
  }

  wake(): void {
    this.signal.wake();
  }

  /** Waits for the decision of this round. `over`: the acquisition has ended. */
  async decision(): Promise<QuorumDecision | 'over'> {
    const { clock, quorum } = this.context;
    const since = clock.now();
    let patience = Infinity;
    while (this.isWanted()) {
      const now = clock.now();
      const decision = decisionOf(this.states, quorum, now, now >= patience);
      if (decision !== undefined) return decision;
      if (patience === Infinity && answeredAt(this.states, now) >= quorum) {
        patience = now + graceAfter(now - since);
      }
      await this.signal.wokenBy(patience);
    }
    return 'over';
  }

  /** Resolves when a majority holds the lock, or after `ms`. */
  async majorityWithin(ms: number): Promise<void> {
    const { clock, quorum } = this.context;
    const end = clock.now() + ms;
    while (this.isWanted() && heldAt(this.states, clock.now()).length < quorum && clock.now() < end) {
      await this.signal.wokenBy(end);
    }
  }
}

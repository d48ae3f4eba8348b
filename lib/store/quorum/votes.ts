import type { Clock } from '../../common/clock.js';
import type { MemberState } from './member-state.js';
import type { Majority } from './write-token.js';

/** Changes the votes of one acquisition on single masters. A failure needs no report: the vote ends with its lease. */
export class Votes {
  constructor(
    private readonly key: string,
    private readonly id: string,
    private readonly clock: Clock,
  ) {}

  /** Releases a vote, and gives up the place in the queue. */
  release(state: MemberState, tombstoneFor = 0): void {
    const { key, id } = this;
    state.clear();
    if (!state.wasSent) return;
    const release = state.member.tell((store) => store.release({ key, id, tombstoneFor, keep: 0, next: undefined }));
    state.givesBack(release).catch(() => undefined);
  }

  /**
   * Sends the token to a master that the majority does not need, whether or not it has granted the lock. After another
   * master has lost its data, it may be the only master that remembers the token.
   */
  raise(state: MemberState, { token, batchSize }: Majority): void {
    const { key, id } = this;
    state.member.ask((store) => store.fence({ key, id, token, batchSize })).catch(() => undefined);
  }

  /** Gives a vote that came after the majority the full lease and the token. */
  widen(state: MemberState, majority: Majority): void {
    const { key, id } = this;
    const lease = Math.ceil(majority.until - this.clock.now());
    if (lease <= 0) return;
    state.standing = 'held';
    state.member.ask((store) => store.renew([{ key, id, lease }])).catch(() => undefined);
    this.raise(state, majority);
  }
}

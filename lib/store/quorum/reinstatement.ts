import type { Clock } from '../../common/clock.js';
import type { AcquireRequest } from '../lock-store.js';
import type { ReinstateReply } from '../quorum-member.js';
import type { MemberState } from './member-state.js';
import type { Majority } from './write-token.js';

/** A hold that a majority has. */
interface Standing {
  readonly request: AcquireRequest;
  readonly majority: Majority;
}

/**
 * Takes the votes of a valid hold again on masters that have lost them, so that it outlives restarts of all masters one
 * after the other. Belief does not grow by that: an extra vote only keeps others out. What was ended by force on one master
 * is not made good on any other.
 */
export class Reinstatement {
  private isRevoked = false;
  private pauses = 0;
  private isUnderWay = false;

  constructor(
    private readonly clock: Clock,
    /** The hold as it stands now; `undefined`: there is none. */
    private readonly standing: () => Standing | undefined,
  ) {}

  /** Some master says that the hold was ended by force there. */
  revoked(): void {
    this.isRevoked = true;
  }

  /** No vote is taken while a lease is set anew, which may become shorter. */
  async pausedFor<T>(work: () => Promise<T>): Promise<T> {
    this.pauses += 1;
    try {
      return await work();
    } finally {
      this.pauses -= 1;
    }
  }

  /** A majority has just confirmed the hold, and these masters have said that they do not know it. Never rejects. */
  async reinstate(missing: readonly MemberState[]): Promise<void> {
    if (missing.length === 0 || this.isUnderWay || this.leaseLeft === 0) return;
    this.isUnderWay = true;
    try {
      // Whether some of them do not have it because of a release by force.
      const looks = await Promise.all(missing.map((state) => this.ask(state, 0)));
      if (looks.includes('left')) return this.revoked();
      await Promise.all(missing.filter((_, i) => looks[i] === 'missing').map((state) => this.take(state)));
    } finally {
      this.isUnderWay = false;
    }
  }

  private async take(state: MemberState): Promise<void> {
    const left = this.leaseLeft;
    if (left === 0) return;
    // A release that comes meanwhile leaves word there.
    state.asking += 1;
    const reply = await this.ask(state, left);
    state.asking -= 1;
    if (reply === undefined) state.isUnsettled = true;
    else if (reply === 'left') this.revoked();
    else if (reply === 'held' && this.standing() !== undefined) state.standing = 'held';
  }

  /** `undefined`: it did not answer. */
  private ask(state: MemberState, lease: number): Promise<ReinstateReply | undefined> {
    const standing = this.standing();
    if (standing === undefined) return Promise.resolve(undefined);
    const { request, majority } = standing;
    const { key, id, mode, owner } = request;
    const latest = state.member.timeAt(majority.until);
    const hold = { key, id, mode, owner, token: majority.token, batchSize: majority.batchSize, lease };
    return state.member
      .ask((store) => store.reinstate({ ...hold, latest: latest === undefined ? undefined : Math.floor(latest) }))
      .catch(() => undefined);
  }

  /** ms for which a vote may be taken again; 0: none may. */
  private get leaseLeft(): number {
    const standing = this.standing();
    if (standing === undefined || this.isRevoked || this.pauses > 0) return 0;
    return Math.max(0, Math.floor(standing.majority.until - this.clock.now()));
  }
}

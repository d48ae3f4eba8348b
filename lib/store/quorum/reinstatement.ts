import type { Clock } from '../../common/clock.js';
import type { AcquireRequest } from '../lock-store.js';
import type { ReinstateReply } from '../quorum-member.js';
import type { Majority, MemberState } from './votes.js';

/**
 * Takes the votes of a valid hold again on masters that have lost them, so that it survives a restart of one master
 * after the other. The validity of the hold does not grow: an extra vote only excludes other clients. If a hold was
 * ended by force on one master, its votes are reinstated on none.
 */
export class Reinstatement {
  private isRevoked = false;
  private isUnderWay = false;

  constructor(
    private readonly clock: Clock,
    private readonly request: AcquireRequest,
    /** The majority of the hold; `undefined`: the hold has ended. */
    private readonly majority: () => Majority | undefined,
  ) {}

  /** A master has reported that the hold was ended by force. */
  revoked(): void {
    this.isRevoked = true;
  }

  /** Called when a majority has just confirmed the hold, for the masters that do not know it. Never rejects. */
  async reinstate(missing: readonly MemberState[]): Promise<void> {
    if (missing.length === 0 || this.isUnderWay || this.leaseLeft === 0) return;
    this.isUnderWay = true;
    try {
      // First finds out whether one of these masters lost the hold by a forced release.
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
    // A release that arrives in the meantime leaves a tombstone on this master.
    state.asking += 1;
    const reply = await this.ask(state, left);
    state.asking -= 1;
    if (reply === undefined) state.isUnsettled = true;
    else if (reply === 'left') this.revoked();
    else if (reply === 'held' && this.majority() !== undefined) state.standing = 'held';
  }

  /** Resolves to `undefined` if the master did not answer. */
  private ask(state: MemberState, lease: number): Promise<ReinstateReply | undefined> {
    const majority = this.majority();
    if (majority === undefined) return Promise.resolve(undefined);
    const { key, id, mode, owner } = this.request;
    const latest = state.member.timeAt(majority.until);
    const hold = { key, id, mode, owner, token: majority.token, batchSize: majority.batchSize, lease };
    return state.member
      .ask((store) => store.reinstate({ ...hold, latest: latest === undefined ? undefined : Math.floor(latest) }))
      .catch(() => undefined);
  }

  /** For how many ms a vote may be taken again; 0: not at all. */
  private get leaseLeft(): number {
    const majority = this.majority();
    return majority === undefined || this.isRevoked ? 0 : Math.max(0, Math.floor(majority.until - this.clock.now()));
  }
}

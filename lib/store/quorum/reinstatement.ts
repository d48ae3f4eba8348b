import type { AcquireRequest, RenewReply } from '../lock-store.js';
import type { ReinstateReply } from '../quorum-member.js';
import type { Answers, QuorumContext } from './round.js';
import type { Grant, Vote } from './vote.js';
import type { Votes } from './votes.js';

/**
 * Takes the votes of a valid hold again on masters that have lost them, so that it survives a restart of one master
 * after the other. The validity of the hold does not grow: an extra vote only excludes other clients. If a hold was
 * ended by force on one master, its votes are reinstated on none.
 */
export class Reinstatement {
  /** Whether a master has reported that the hold was ended by force. */
  isRevoked = false;

  constructor(
    private readonly context: QuorumContext,
    private readonly request: AcquireRequest,
    private readonly votes: Votes,
  ) {}

  /** The majority of the hold; `undefined`: the hold has ended. */
  private get majority(): Grant | undefined {
    return this.isRevoked || this.votes.ended !== undefined ? undefined : this.votes.majority;
  }

  /** Called when a majority has just confirmed the hold. `leases`: what each master has replied. Never rejects. */
  async reinstate(leases: Answers<RenewReply>): Promise<void> {
    const missing = this.votes.all.filter((_, place) => leases[place] === 'not-held');
    // First finds out whether one of these masters lost the hold by a forced release.
    const looks = await Promise.all(missing.map((vote) => this.ask(vote, true)));
    if (looks.includes('left')) this.isRevoked = true;
    await Promise.all(missing.filter((_, i) => looks[i] === 'missing').map((vote) => this.take(vote)));
  }

  private async take(vote: Vote): Promise<void> {
    // A release that arrives in the meantime leaves a tombstone on this master.
    vote.asking += 1;
    const reply = await this.ask(vote, false);
    vote.asking -= 1;
    const { majority } = this;
    if (reply === undefined) vote.isUnsettled = true;
    else if (reply === 'left') this.isRevoked = true;
    else if (reply === 'held' && majority !== undefined) vote.join(majority);
  }

  /** Resolves to `undefined` if the master did not answer. `looks`: the vote is not taken. */
  private async ask(vote: Vote, looks: boolean): Promise<ReinstateReply | undefined> {
    const { majority } = this;
    const left = Math.floor((majority?.until ?? -Infinity) - this.context.clock.now());
    if (majority === undefined || left <= 0) return 'missing';
    const { key, id, mode, owner } = this.request;
    const { token, batchSize, until } = majority;
    const end = vote.member.timeAt(until);
    const latest = end === undefined ? undefined : Math.floor(end);
    const hold = { key, id, mode, owner, token, batchSize, lease: looks ? 0 : left, latest };
    return vote.member.ask((store) => store.reinstate(hold)).catch(() => undefined);
  }
}

import { Bell, type Answers } from '../../common/answers.js';
import type { AcquireRequest, RenewReply } from '../lock-store.js';
import type { ReinstateReply } from '../quorum-member.js';
import { isMinorityWithout, repliedBefore, type QuorumContext } from './round.js';
import { Vote, type Grant } from './vote.js';

/**
 * `impossible`: so many masters fail or refuse that there can be no majority, whatever other clients do. `contended`: there
 * are no votes, or another client has a majority. `split`: there are some votes, and no client has a majority.
 */
export type QuorumDecision = 'held' | 'impossible' | 'contended' | 'split';

/** The votes of one acquisition, one for each master, and what follows from them. */
export class Votes {
  readonly all: readonly Vote[];
  /** Rings when a vote may have changed. */
  readonly bell: Bell;
  /** The majority that holds the lock and has accepted its token, until it is renewed no longer. */
  majority: Grant | undefined;
  /** `released`: everywhere, so later replies do not matter. `dropped`: grants that come later are released. */
  ended: 'released' | 'dropped' | undefined;
  /** Whether a master has reported that the hold was ended by force. Then no vote is reinstated on any master. */
  isRevoked = false;

  constructor(
    private readonly context: QuorumContext,
    private readonly request: AcquireRequest,
  ) {
    const { key, id } = request;
    this.bell = new Bell(context.clock);
    this.all = context.members.map((member) => new Vote(context, member, { key, id }));
  }

  /** The votes that count now. */
  get held(): Vote[] {
    return this.all.filter(({ grant }) => grant !== undefined);
  }

  get areMajority(): boolean {
    return this.held.length >= this.context.quorum;
  }

  /** How many masters have a known state. */
  get answered(): number {
    return this.all.filter(({ isAnswered, grant }) => isAnswered || grant !== undefined).length;
  }

  /** The known holders of the votes that this acquisition lacks. */
  get rivals(): string[] {
    return this.all.flatMap(({ holders }) => holders);
  }

  /**
   * The decision that follows from the replies so far; `undefined`: it depends on pending replies. With `last` set, these
   * are not awaited.
   */
  decision(last: boolean): QuorumDecision | undefined {
    const { held, context } = this;
    if (held.length >= context.quorum) return 'held';
    const open = last ? 0 : this.all.filter((vote) => vote.isOpen && !held.includes(vote)).length;
    if (held.length + open >= context.quorum) return undefined;
    if (this.areMinorityWithout(({ isExcluded }) => isExcluded)) return 'impossible';
    return held.length === 0 || this.areLost ? 'contended' : 'split';
  }

  /** The refusal of so many masters that there can be no majority, if its reason lies in the request. */
  get refusal(): 'upgrade' | 'left' | undefined {
    return (['upgrade', 'left'] as const).find((outcome) =>
      this.areMinorityWithout(({ isExcluded, standing }) => isExcluded && standing.outcome === outcome),
    );
  }

  /** Whether the votes of this kind are so many that the others are no majority. */
  areMinorityWithout(isOfKind: (vote: Vote) => boolean): boolean {
    return isMinorityWithout(this.context, this.all.filter(isOfKind).length);
  }

  /**
   * Called with each reply of a master. Drops the replies of others that came from the same server: the addresses have
   * changed since.
   */
  countServerOnce(vote: Vote): void {
    const { server } = vote.member;
    vote.server = server;
    for (const other of this.all) {
      if (server !== undefined && other !== vote && other.isAnswered && other.server === server)
        other.fail(repliedBefore(vote.member));
    }
  }

  /** Releases the votes that count now. */
  release(): void {
    for (const vote of this.held) vote.release();
  }

  /**
   * Takes the votes of a valid hold again on masters that have lost them, so that it survives a restart of one master after
   * the other. The validity does not grow: an extra vote only excludes other clients. Called when a majority has just
   * confirmed the hold. `leases`: what each master has replied. Never rejects.
   */
  async reinstate(leases: Answers<RenewReply>): Promise<void> {
    const missing = this.all.filter((_, i) => leases[i] === 'not-held');
    // First finds out whether one of these masters lost the hold by a forced release.
    const looks = await Promise.all(missing.map((vote) => this.askAgain(vote, true)));
    await Promise.all(missing.filter((_, i) => looks[i] === 'missing').map((vote) => this.takeAgain(vote)));
  }

  private async takeAgain(vote: Vote): Promise<void> {
    // A release that arrives in the meantime leaves a tombstone on this master.
    vote.asking += 1;
    const reply = await this.askAgain(vote, false);
    vote.asking -= 1;
    const { lasting } = this;
    if (reply === undefined) vote.isUnsettled = true;
    else if (reply === 'held' && lasting !== undefined) vote.join(lasting);
  }

  /** Resolves to `undefined` if the master did not answer. `looks`: the vote is not taken. */
  private async askAgain(vote: Vote, looks: boolean): Promise<ReinstateReply | undefined> {
    const { lasting } = this;
    const left = Math.floor((lasting?.until ?? -Infinity) - this.context.clock.now());
    if (lasting === undefined || left <= 0) return 'missing';
    const { key, id, mode, owner } = this.request;
    const { token, batchSize, until } = lasting;
    const end = vote.member.timeAt(until);
    const latest = end === undefined ? undefined : Math.floor(end);
    const hold = { key, id, mode, owner, token, batchSize, lease: looks ? 0 : left, latest };
    const reply = await vote.member.ask((store) => store.reinstate(hold)).catch(() => undefined);
    // At once: other requests for votes of this hold may be about to be sent.
    if (reply === 'left') this.isRevoked = true;
    return reply;
  }

  /** The majority, unless the hold has ended. */
  private get lasting(): Grant | undefined {
    return this.isRevoked || this.ended !== undefined ? undefined : this.majority;
  }

  /** Whether another client has a majority. */
  private get areLost(): boolean {
    const votes = new Map<string, number>();
    for (const holder of this.all.flatMap(({ isOpen, holders }) => (isOpen ? [] : holders))) {
      votes.set(holder, (votes.get(holder) ?? 0) + 1);
    }
    votes.delete(this.request.id);
    return Math.max(...votes.values()) >= this.context.quorum;
  }
}

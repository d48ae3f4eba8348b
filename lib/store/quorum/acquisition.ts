import { LockStoreError } from '../../errors/index.js';
import type { AcquireReply, AcquireRequest } from '../lock-store.js';
import { contendedReply } from './contended-reply.js';
import { hasRival, heldAt, minorityOf, refusalOf } from './quorum-decision.js';
import { Contest, type Move } from './contest.js';
import { memberRequest } from './member-request.js';
import type { Member } from './member.js';
import type { QuorumContext } from './quorum-context.js';
import { Reinstatement } from './reinstatement.js';
import { MemberState } from './member-state.js';
import { SplitVotes } from './split-votes.js';
import { VoteWaiting } from './vote-waiting.js';
import { Votes } from './votes.js';
import { writeToken, type Majority } from './write-token.js';

/** How often one attempt may go round, and how often a majority may fail to take its token. */
const MOST_ROUNDS = 50;
const MOST_UNWRITTEN = 3;

/** As the engine is to hear it; a hold still without the time that has gone by since it asked. */
export type Outcome = { readonly majority: Majority } | { readonly reply: Exclude<AcquireReply, { outcome: 'held' }> };

/** One acquisition over several masters: the state of each, and the outcome. A push only says that a question pays off. */
export class Acquisition {
  majority: Majority | undefined;
  readonly states: readonly MemberState[];
  private readonly since: number;
  private readonly splits: SplitVotes;
  readonly reinstatement: Reinstatement;
  private readonly contest: Contest;
  private readonly votes: Votes;
  private running: Promise<Outcome> | undefined;
  private last: Promise<Outcome> | undefined;
  private again = false;
  private ended: 'released' | 'dropped' | undefined;
  private readonly waiting: VoteWaiting;

  constructor(
    private readonly context: QuorumContext,
    private request: AcquireRequest,
    /** Has the engine retry. */
    private readonly retry: () => void,
  ) {
    this.since = context.clock.now();
    this.splits = new SplitVotes(context.random);
    this.contest = new Contest(request.id, this.since);
    this.votes = new Votes(request.key, request.id, context.clock);
    this.reinstatement = new Reinstatement(context.clock, () =>
      this.majority === undefined || this.ended !== undefined
        ? undefined
        : { request: this.request, majority: this.majority },
    );
    this.states = context.members.map((member) => new MemberState(member));
    this.waiting = new VoteWaiting(this.states, context, () => this.isWanted);
  }

  /**
   * Tries to get a majority; whoever asks while that is under way shares it, and has it go round once more.
   * @throws LockStoreError when so many masters fail that there is no majority
   */
  attempt(request = this.request): Promise<Outcome> {
    this.request = request;
    if (this.running !== undefined) this.again = true;
    else {
      this.running = this.run().finally(() => {
        this.running = undefined;
      });
      this.last = this.running;
    }
    return this.running;
  }

  /** What becomes, or became, of the latest attempt. */
  get outcome(): Promise<Outcome> {
    return this.last ?? this.attempt();
  }

  /** The request for one master. */
  requestFor({ store }: Member): AcquireRequest {
    const { ageBackoff } = this.splits;
    return memberRequest(this.request, store, this.context.clock.now() - this.since, ageBackoff);
  }

  /** Asks a master. A lease counts from before that is sent, and never from an arrival. */
  expect(state: MemberState, question: () => Promise<AcquireReply>, sent = this.context.clock.now()): void {
    const { epoch, unreachable } = state.member.store;
    state.wasSent ||= unreachable === undefined;
    state.asking += 1;
    question().then(
      (reply) => {
        state.asking -= 1;
        this.answered(state, reply, sent, epoch);
      },
      (error: Error) => {
        state.asking -= 1;
        this.failed(state, error);
      },
    );
  }

  /** A master says that it has granted this acquisition. */
  pushed(member: Member): void {
    const state = this.stateOf(member);
    const { clock } = this.context;
    if (this.ended !== undefined || state.holdsAt(clock.now())) return;
    if (state.isSpoiled) return this.votes.release(state);
    if (this.majority !== undefined) return this.votes.widen(state, this.majority);
    state.pushed = true;
    // The answer to a question that is on its way may be the grant itself.
    if (!state.isOpen) this.ask(state);
    this.stir();
  }

  /** A master says that the hold was ended by force; answers whether there is no majority any more. */
  revoked(member: Member): boolean {
    const state = this.stateOf(member);
    state.clear();
    state.countsFrom = this.context.clock.now();
    this.reinstatement.revoked();
    if (this.majority === undefined) {
      if (this.ended === undefined) this.stir();
      return false;
    }
    return this.states.filter(({ standing }) => standing === 'held').length < this.context.quorum;
  }

  /** It is being given back everywhere: what comes now does not concern it. */
  release(): void {
    this.ended = 'released';
    this.waiting.wake();
  }

  private stateOf(member: Member): MemberState {
    return this.states[member.place]!;
  }

  private get held(): MemberState[] {
    return heldAt(this.states, this.context.clock.now());
  }

  private async run(): Promise<Outcome> {
    const { quorum, clock } = this.context;
    let unwritten = 0;
    let yields = false;
    if (this.majority !== undefined && this.majority.until > clock.now()) return { majority: this.majority };
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      this.again = false;
      if (this.held.length < quorum) this.askAll(yields);
      yields = false;
      const decision = await this.waiting.decision();
      if (decision === 'over') break;
      if (decision === 'held') {
        const majority = await writeToken(this.context, this.request, this.states, () => this.isWanted);
        if (majority !== undefined && this.isWanted) return this.win(majority);
        unwritten += 1;
        if (unwritten > MOST_UNWRITTEN) break;
        continue;
      }
      if (decision === 'impossible') return this.refuse();
      if (this.again) continue;

      const { held } = this;
      if (held.length === 0) return this.contended();
      const move = hasRival(this.states, quorum, this.request) ? 'rival' : this.nextMove();
      if (move === 'rival' || move === undefined) {
        for (const state of held) this.votes.release(state);
        return this.contended(move === 'rival' ? Infinity : this.splits.retryIn());
      }
      if (!move.keeps) for (const state of held) this.votes.release(state);
      await this.waiting.majorityWithin(move.pause);
      // Those who wait keep what they have, and then have the queues decide, which are in the same order everywhere.
      yields = this.request.waits;
    }
    if (this.isWanted) {
      for (const state of this.held) this.votes.release(state);
      throw new LockStoreError(`the masters did not come to a decision about '${this.request.key}'`, {
        key: this.request.key,
        transient: true,
      });
    }
    return { reply: { outcome: 'left', time: clock.now() } };
  }

  /** What to do about a split vote; `undefined`: give everything back. */
  private nextMove(): Move | undefined {
    const { clock, quorum } = this.context;
    if (!this.request.waits) return this.contest.move(this.states, quorum, clock.now());
    const pause = this.splits.pause(this.states);
    return pause === undefined ? undefined : { keeps: true, pause };
  }

  private get isWanted(): boolean {
    return this.ended === undefined;
  }

  /** Asks every master that is neither held nor asked already; with `yields` those that are held give it to their queue. */
  private askAll(yields: boolean): void {
    const now = this.context.clock.now();
    for (const state of this.states) {
      if (state.holdsAt(now)) {
        if (yields) this.yield(state);
      } else if (!state.isOpen) {
        this.ask(state);
      }
    }
  }

  private ask(state: MemberState): void {
    if (state.isSpoiled) return;
    state.pushed = false;
    this.expect(state, () => state.member.ask((store) => store.acquire(this.requestFor(state.member))));
  }

  /** Gives a grant back and stands in line again, in one step: whoever has come first gets it, which may be this one. */
  private yield(state: MemberState): void {
    const { key, id } = this.request;
    state.clear();
    this.expect(state, async () => {
      const next = this.requestFor(state.member);
      const release = state.member.ask((store) => store.release({ key, id, tombstoneFor: 0, keep: 0, next }));
      return (await state.givesBack(release)).next!;
    });
  }

  private answered(state: MemberState, reply: AcquireReply, sent: number, epoch: number): void {
    if (this.ended === 'released') return;
    if (this.ended === 'dropped') {
      if (reply.outcome === 'held' || reply.outcome === 'queued') this.votes.release(state);
      return;
    }
    if (state.isSpoiled) {
      if (reply.outcome === 'held' || reply.outcome === 'queued') this.votes.release(state);
      return this.changed(state);
    }
    const now = this.context.clock.now();
    state.roundTrip = now - sent;
    state.member.noteTime(reply.time, sent);
    if (sent >= state.countsFrom) state.take(reply, sent, epoch, now);
    if (reply.outcome === 'held' && sent + reply.lease <= now) {
      this.votes.release(state);
      state.fail(new LockStoreError('the answer came so late that the lease was over by then', { transient: true }));
    }
    if (state.pushed && !state.isOpen) this.ask(state);
    this.changed(state);
  }

  private failed(state: MemberState, error: Error): void {
    const isOpen = !(error instanceof LockStoreError) || error.transient;
    if (this.ended === 'dropped' && isOpen) this.votes.release(state, 2 * this.context.commandTimeout);
    if (this.ended !== undefined) return;
    state.fail(error);
    this.changed(state);
  }

  /** A master has answered. What comes when nothing is under way any more may still change something. */
  private changed(state: MemberState): void {
    if (this.running !== undefined) this.waiting.wake();
    else if (this.majority !== undefined) {
      if (state.isAnswered) this.votes.raise(state, this.majority);
    } else if (state.holdsAt(this.context.clock.now())) this.retry();
  }

  /** Something has happened that is worth asking about. */
  private stir(): void {
    if (this.running !== undefined) this.waiting.wake();
    else this.retry();
  }

  /** So many masters fail, or refuse, that there can be no majority. */
  private refuse(): Outcome {
    const { quorum, clock } = this.context;
    const { key, waits } = this.request;
    const refusal = refusalOf(this.states, quorum);
    const failure = minorityOf(this.states, clock.now(), quorum, key);
    for (const state of this.held) this.votes.release(state);
    if (refusal !== undefined || !waits) this.drop();
    if (refusal !== undefined) return { reply: { outcome: refusal, time: clock.now() } };
    throw failure;
  }

  private contended(atMost = Infinity): Outcome {
    const { clock, random } = this.context;
    const { waits } = this.request;
    const reply = contendedReply(this.states, { waits, now: clock.now(), atMost, random });
    if (!waits) this.drop();
    return { reply };
  }

  /** Nobody will hear of it again: late grants are given back. */
  private drop(): void {
    this.ended ??= 'dropped';
  }

  private win(majority: Majority): Outcome {
    this.majority = majority;
    for (const state of this.states)
      if (state.isAnswered && !state.hasToken(majority.token)) this.votes.raise(state, majority);
    return { majority };
  }
}

import { LockStoreError } from '../../errors/index.js';
import type { AcquireReply, AcquireRequest } from '../lock-store.js';
import type { Member } from './membership.js';
import { Reinstatement } from './reinstatement.js';
import { Bell, graceAfter, minorityError, type QuorumContext } from './round.js';
import { SplitVotes, TieBreak, type TieBreakStep } from './split-votes.js';
import { Votes, type Majority, type MemberState, type QuorumDecision } from './votes.js';
import { writeToken } from './write-token.js';

/** How many rounds one attempt may take, and how many times a majority may fail to accept its token. */
const MOST_ROUNDS = 50;
const MOST_UNWRITTEN = 3;
/** If no master says when to retry, the waiter retries after this many ms, up to twice as many. */
const RETRY = 50;

/** The outcome for the engine, before the time since the engine's call is subtracted from a lease. */
export type Outcome = Majority | Exclude<AcquireReply, { outcome: 'held' }>;

/** One acquisition over several masters. A pushed grant is only a reason to ask again. */
export class Acquisition {
  majority: Majority | undefined;
  readonly votes: Votes;
  private readonly since: number;
  private readonly splits: SplitVotes;
  readonly reinstatement: Reinstatement;
  private tieBreak: TieBreak;
  private running: Promise<Outcome> | undefined;
  private again = false;
  private ended: 'released' | 'dropped' | undefined;
  /** Rings when a vote may have changed. */
  private readonly bell: Bell;

  constructor(
    private readonly context: QuorumContext,
    private request: AcquireRequest,
    /** Makes the engine retry; `undefined`: this is a single try, and no caller waits. */
    private readonly retry: (() => void) | undefined,
  ) {
    this.since = context.clock.now();
    this.splits = new SplitVotes(request.id, context.random);
    this.tieBreak = new TieBreak(request.id, this.since);
    this.reinstatement = new Reinstatement(context.clock, request, () => (this.isWanted ? this.majority : undefined));
    this.votes = new Votes(context, request);
    this.bell = new Bell(context.clock);
  }

  /** A caller waits: the engine asks again under the same id or releases it, also while the client joins no queue. */
  get isAwaited(): boolean {
    return this.retry !== undefined;
  }

  /**
   * Tries to get a majority. A call during an attempt shares it, and makes it go through another round.
   * @throws LockStoreError if so many masters fail that there is no majority
   */
  attempt(request = this.request): Promise<Outcome> {
    this.request = request;
    if (this.running !== undefined) this.again = true;
    else {
      this.tieBreak = new TieBreak(request.id, this.context.clock.now());
      this.running = this.run().finally(() => void (this.running = undefined));
    }
    return this.running;
  }

  /** The request for one master. Its age gives it the same place in every queue, whatever the clocks show. */
  requestFor({ store }: Member): AcquireRequest {
    const { request } = this;
    const { ageBackoff } = this.splits;
    // The masters decide whether a batch is possible. A majority reserves the tokens after it has accepted the first one.
    const batchSize = Math.min(request.batchSize, 2);
    return {
      ...request,
      waits: request.waits && store.listening,
      batchSize,
      uncontendedBatchSize: batchSize,
      age: Math.max(0, this.context.clock.now() - this.since - ageBackoff),
      backedOff: ageBackoff > 0,
    };
  }

  /** Sends a request to a master. A lease counts from before the request was sent, never from the reply. */
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

  /** A master has announced that it granted this acquisition. */
  pushed(member: Member): void {
    const state = this.stateOf(member);
    const { clock } = this.context;
    if (this.ended !== undefined || state.holdsAt(clock.now())) return;
    if (state.isSpoiled) return state.release();
    if (this.majority !== undefined) return state.widen(this.majority, clock.now());
    state.pushed = true;
    // The reply to a pending request may be the grant itself.
    if (!state.isOpen) this.ask(state);
    this.stir();
  }

  /** A master has announced that the hold was ended by force. Returns whether the majority is lost. */
  revoked(member: Member): boolean {
    const state = this.stateOf(member);
    state.clear();
    state.countsFrom = this.context.clock.now();
    this.reinstatement.revoked();
    if (this.majority === undefined) {
      if (this.ended === undefined) this.stir();
      return false;
    }
    return this.votes.states.filter(({ standing }) => standing === 'held').length < this.context.quorum;
  }

  /** The acquisition is being released everywhere. Later replies do not matter. */
  release(): void {
    this.ended = 'released';
    this.bell.ring();
  }

  private stateOf(member: Member): MemberState {
    return this.votes.states[member.place]!;
  }

  private async run(): Promise<Outcome> {
    const { votes, context } = this;
    const { clock } = context;
    let unwritten = 0;
    let yields = false;
    if (this.majority !== undefined && this.majority.until > clock.now()) return this.majority;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      this.again = false;
      if (!votes.areMajority) this.askAll(yields);
      yields = false;
      const decision = await this.decision();
      if (decision === 'over') break;
      if (decision === 'held') {
        const majority = await writeToken(context, this.request, votes, () => this.isWanted);
        if (majority !== undefined && this.isWanted) return this.win(majority);
        unwritten += 1;
        if (unwritten > MOST_UNWRITTEN) break;
        continue;
      }
      if (this.request.adopts !== undefined && votes.refusal === undefined) return this.undecided();
      if (decision === 'impossible') return this.refuse();
      if (this.again) continue;

      if (votes.held.length === 0) return this.contended();
      const move = votes.areLost ? 'rival' : this.nextMove();
      if (move === 'rival' || move === undefined) {
        votes.release();
        return this.contended(move === 'rival' ? undefined : this.splits.retryIn(votes));
      }
      if (!move.keeps) votes.release();
      if (move.asks) this.askAll(false);
      await this.majorityWithin(move.pause);
      // A waiter keeps its votes during the pause. Then the queues decide: their order is the same everywhere.
      yields = this.request.waits;
    }
    return this.isWanted ? this.undecided() : { outcome: 'left', time: clock.now() };
  }

  /** Waits for the decision of this round. `over`: the acquisition has ended. */
  private async decision(): Promise<QuorumDecision | 'over'> {
    const { votes } = this;
    const { clock, quorum } = this.context;
    const since = clock.now();
    let patience = Infinity;
    while (this.isWanted) {
      const now = clock.now();
      const decision = votes.decision(now >= patience);
      if (decision !== undefined) return decision;
      if (patience === Infinity && votes.answered >= quorum) patience = now + graceAfter(now - since);
      await this.bell.rung(patience);
    }
    return 'over';
  }

  /** Resolves when a majority holds the lock, or after `ms`. */
  private async majorityWithin(ms: number): Promise<void> {
    const { clock } = this.context;
    const end = clock.now() + ms;
    while (this.isWanted && !this.votes.areMajority && clock.now() < end) await this.bell.rung(end);
  }

  /** The votes of an adoption stay: the caller may ask again, and no client could take them again. */
  private undecided(): never {
    const { key, adopts } = this.request;
    if (adopts === undefined) this.votes.release();
    throw new LockStoreError(`the masters reached no decision about '${key}'`, { key, transient: true });
  }

  /** What to do about a split vote; `undefined`: release all votes. */
  private nextMove(): TieBreakStep | undefined {
    return this.request.waits ? this.splits.move(this.votes) : this.tieBreak.move(this.votes, this.context.clock.now());
  }

  private get isWanted(): boolean {
    return this.ended === undefined;
  }

  /** Asks every master without a vote or a pending request. `yields`: votes are released to the queue. */
  private askAll(yields: boolean): void {
    const now = this.context.clock.now();
    for (const state of this.votes.states) {
      if (!state.holdsAt(now)) {
        if (!state.isOpen) this.ask(state);
      } else if (yields) this.yield(state);
    }
  }

  private ask(state: MemberState): void {
    if (state.isSpoiled) return;
    state.pushed = false;
    this.expect(state, () => state.member.ask((store) => store.acquire(this.requestFor(state.member))));
  }

  /** Releases a vote and queues again in one step. The head of the queue, perhaps this one, is granted. */
  private yield(state: MemberState): void {
    const { key, id } = this.request;
    state.clear();
    this.expect(state, async () => {
      const next = this.requestFor(state.member);
      const release = state.member.ask((store) => store.release({ key, id, tombstoneFor: 0, keep: 0, next }));
      return (await state.afterRelease(release)).next!;
    });
  }

  private answered(state: MemberState, reply: AcquireReply, sent: number, epoch: number): void {
    if (this.ended === 'released') return;
    if (this.ended === 'dropped' || state.isSpoiled) {
      if (reply.outcome === 'held' || reply.outcome === 'queued') state.release();
      return this.ended === 'dropped' ? undefined : this.changed(state);
    }
    const now = this.context.clock.now();
    state.roundTrip = now - sent;
    state.member.noteTime(reply.time, sent);
    if (sent >= state.countsFrom) state.take(reply, sent, epoch, now);
    if (this.majority === undefined) state.countServerOnce(this.votes.states);
    if (reply.outcome === 'held' && sent + reply.lease <= now) {
      state.release();
      state.fail(new LockStoreError('the reply arrived after the lease had ended', { transient: true }));
    }
    if (state.pushed && !state.isOpen) this.ask(state);
    this.changed(state);
  }

  private failed(state: MemberState, error: Error): void {
    const isOpen = !(error instanceof LockStoreError) || error.transient;
    if (this.ended === 'dropped' && isOpen) state.release(2 * this.context.commandTimeout);
    if (this.ended !== undefined) return;
    state.fail(error);
    this.changed(state);
  }

  /** A master has replied. A reply that comes after the last round may still change the outcome. */
  private changed(state: MemberState): void {
    if (this.running !== undefined) this.bell.ring();
    else if (this.majority !== undefined) {
      if (state.isAnswered) state.raise(this.majority);
    } else if (state.holdsAt(this.context.clock.now())) this.retry?.();
  }

  /** Makes a running attempt or the engine ask again. */
  private stir(): void {
    if (this.running !== undefined) this.bell.ring();
    else this.retry?.();
  }

  /** So many masters fail or refuse that there can be no majority. After a refusal, no request asks again. */
  private refuse(): Outcome {
    const { states, answered, refusal } = this.votes;
    const { quorum, clock } = this.context;
    const { key } = this.request;
    const now = clock.now();
    for (const state of states) {
      if (state.holdsAt(now) || (refusal !== undefined && state.standing === 'queued')) state.release();
    }
    if (refusal !== undefined) {
      this.ended ??= 'dropped';
      return { outcome: refusal, time: now };
    }
    this.drop();
    const errors = states.flatMap(({ isExcluded, standing, error }) =>
      isExcluded && standing === 'failed' && error !== undefined ? [error] : [],
    );
    throw minorityError(states.length, answered, errors, quorum, key);
  }

  /**
   * The outcome without a majority, made of the masters' replies. `splitFor`: no acquisition has one, so the vote is tried again in
   * so many ms at the latest.
   */
  private contended(splitFor?: number): Outcome {
    const { states, rivals } = this.votes;
    const { clock, random } = this.context;
    const now = clock.now();
    // A master with a pending request is asked already, so its time for a retry does not count.
    const next = Math.min(...states.filter(({ isOpen }) => !isOpen).map(({ retryAt }) => retryAt));
    const retryAfter = Math.min(next - now, splitFor ?? Infinity);
    this.drop();
    return {
      outcome: this.request.waits ? 'queued' : 'busy',
      time: now,
      retryAfter: Math.max(2, Number.isFinite(retryAfter) ? retryAfter : RETRY * (1 + random())),
      lastToken: Math.max(...states.map(({ lastToken }) => lastToken)),
      isSplit: splitFor !== undefined,
      holders: [...new Set(rivals)],
    };
  }

  /** If no caller needs this acquisition any more, late grants are released. */
  private drop(): void {
    if (!this.isAwaited) this.ended ??= 'dropped';
  }

  private win(majority: Majority): Majority {
    this.majority = majority;
    for (const state of this.votes.states) {
      if (state.isAnswered && !state.hasToken(majority.token)) state.raise(majority);
    }
    return majority;
  }
}

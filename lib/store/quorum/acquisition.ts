import { isLockConfigError, LockStoreError } from '../../errors/index.js';
import type { AcquireReply, AcquireRequest, ContendedReply } from '../lock-store.js';
import type { QuorumMember } from '../quorum-member.js';
import type { Member } from './membership.js';
import { graceAfter, isMajority, minorityError, type QuorumContext } from './round.js';
import { SplitVotes, TieBreak } from './split-votes.js';
import type { Grant, Vote } from './vote.js';
import { Votes } from './votes.js';
import { writeToken } from './write-token.js';

/** How many rounds one attempt may take, and how many times a majority may fail to accept its token. */
const MOST_ROUNDS = 50;
const MOST_UNWRITTEN = 3;
/** If no master says when to retry, the waiter retries after this many ms, up to twice as many. */
const RETRY = 50;
/** The largest difference in speed between two clocks, with a small margin. */
const DRIFT = 0.011;

type Outcome = Grant | Exclude<AcquireReply, { outcome: 'held' }>;

/** One acquisition over several masters. A pushed grant is only a reason to ask again. */
export class Acquisition {
  readonly votes: Votes;
  private readonly since: number;
  private readonly splits: SplitVotes;
  private running: Promise<Outcome> | undefined;
  private again = false;

  constructor(
    private readonly context: QuorumContext,
    private request: AcquireRequest,
    /** Makes the engine retry. */
    private readonly retry: () => void,
  ) {
    this.since = context.clock.now();
    this.votes = new Votes(context, request);
    this.splits = new SplitVotes(context, request.id);
  }

  /** Whether it may still be granted. */
  get isWanted(): boolean {
    return this.votes.ended === undefined;
  }

  /**
   * Tries to get a majority. A call during an attempt shares it, and makes it go through another round.
   * @throws LockStoreError if so many masters fail that there is no majority
   */
  async attempt(request = this.request): Promise<AcquireReply> {
    const called = this.context.clock.now();
    this.request = request;
    if (this.running === undefined) this.running = this.run().finally(() => (this.running = undefined));
    else this.again = true;
    const outcome = await this.running;
    if ('outcome' in outcome) return outcome;
    const { token, batchSize, until, from } = outcome;
    // The engine counts a lease from its own call, and the masters from when they were asked. Their drift counts, too.
    const lease = until - called - Math.max(0, called - from) * DRIFT;
    return { outcome: 'held', time: this.context.clock.now(), token, lease, batchSize };
  }

  /** The request for one master. Its age gives it the same place in every queue, whatever the clocks show. */
  requestFor(store: QuorumMember): AcquireRequest {
    const { request } = this;
    const { ageBackoff } = this.splits;
    // The masters decide whether a batch is possible. A majority reserves the tokens after it has accepted the first one.
    const batchSize = Math.min(request.batchSize, 2);
    return {
      ...request,
      waits: this.waits && store.listening,
      batchSize,
      uncontendedBatchSize: batchSize,
      age: Math.max(0, this.context.clock.now() - this.since - ageBackoff),
      backedOff: ageBackoff > 0,
    };
  }

  /** Sends a request to a master. A lease counts from before the request was sent, never from the reply. */
  expect(vote: Vote, question: () => Promise<AcquireReply>, sent = this.context.clock.now()): void {
    const { epoch, unreachable } = vote.member.store;
    vote.wasSent ||= unreachable === undefined;
    vote.asking += 1;
    question().then(
      (reply) => {
        vote.asking -= 1;
        this.answered(vote, reply, sent, epoch);
      },
      (error: Error) => {
        vote.asking -= 1;
        this.failed(vote, error);
      },
    );
  }

  /** A master has announced that it granted this acquisition. */
  pushed({ index }: Member): void {
    const vote = this.votes.all[index]!;
    if (!this.isWanted || vote.grant !== undefined) return;
    if (vote.isSpoiled) return vote.release();
    if (this.votes.majority !== undefined) return vote.widen(this.votes.majority);
    vote.pushed = true;
    // The reply to a pending request may be the grant itself.
    if (!vote.isOpen) this.ask(vote);
    this.stir();
  }

  /** A master has announced that the hold was ended by force. Returns whether the majority is lost. */
  revoked({ index }: Member): boolean {
    const vote = this.votes.all[index]!;
    vote.clear();
    vote.countsFrom = this.context.clock.now();
    this.votes.isRevoked = true;
    if (this.votes.majority === undefined) {
      if (this.isWanted) this.stir();
      return false;
    }
    return this.votes.all.filter(({ standing }) => standing.outcome === 'held').length < this.context.quorum;
  }

  /** The acquisition is being released everywhere. */
  release(): void {
    this.votes.ended = 'released';
    this.votes.bell.ring();
  }

  private async run(): Promise<Outcome> {
    const { votes, context } = this;
    const { bell } = votes;
    if (votes.majority !== undefined && votes.majority.until > context.clock.now()) return votes.majority;
    const tieBreak = new TieBreak(context, this.request.id);
    let unwritten = 0;
    let yields = false;
    for (let round = 0; round < MOST_ROUNDS && unwritten <= MOST_UNWRITTEN; round += 1) {
      this.again = false;
      if (!votes.areMajority) this.askAll(yields);
      yields = false;
      const decision = await bell.until(
        (last) => (this.isWanted ? votes.decision(last) : 'over'),
        (ms) => (votes.answered < context.quorum ? undefined : graceAfter(ms)),
      );
      if (decision === 'over') break;
      if (decision === 'held') {
        const majority = await writeToken(context, this.request, votes);
        if (majority !== undefined && this.isWanted) return this.win(majority);
        unwritten += 1;
        continue;
      }
      if (this.request.adopts !== undefined && votes.refusal === undefined) return this.undecided();
      if (decision === 'impossible') return this.refuse();
      if (this.again) continue;
      if (decision === 'contended') return this.contended();
      const move = this.waits ? this.splits.move(votes) : tieBreak.move(votes);
      if (move === undefined) return this.contended(this.splits.retryIn());
      if (!move.keeps) votes.release();
      if (move.asks) this.askAll(false);
      await bell.until(
        (last) => last || votes.areMajority || !this.isWanted || undefined,
        () => move.pause,
      );
      // A waiter keeps its votes during the pause. Then the queues decide: their order is the same everywhere.
      yields = this.waits;
    }
    return this.isWanted ? this.undecided() : { outcome: 'left', time: context.clock.now() };
  }

  /** A client that receives no grants from a majority joins no queue. Its requests are repeated when it does. */
  private get waits(): boolean {
    return this.request.waits && isMajority(this.context, ({ listening }) => listening);
  }

  /** Asks every master without a vote or a pending request. `yields`: votes are released to the queue. */
  private askAll(yields: boolean): void {
    for (const vote of this.votes.all) {
      if (vote.grant === undefined) {
        if (!vote.isOpen) this.ask(vote);
      } else if (yields) this.yield(vote);
    }
  }

  private ask(vote: Vote): void {
    if (vote.isSpoiled) return;
    vote.pushed = false;
    this.expect(vote, () => vote.member.ask((store) => store.acquire(this.requestFor(store))));
  }

  /** Releases a vote and queues again in one step. The head of the queue, perhaps this one, is granted. */
  private yield(vote: Vote): void {
    const { key, id } = this.request;
    vote.clear();
    this.expect(vote, async () => {
      const release = vote.member.ask((store) =>
        store.release({ key, id, tombstoneFor: 0, keep: 0, next: this.requestFor(store) }),
      );
      return (await vote.afterRelease(release)).next!;
    });
  }

  private answered(vote: Vote, reply: AcquireReply, sent: number, epoch: number): void {
    if (this.votes.ended === 'released') return;
    if (!this.isWanted || vote.isSpoiled) {
      if (reply.outcome === 'held' || reply.outcome === 'queued') vote.release();
      return this.changed(vote);
    }
    vote.member.noteTime(reply.time, sent);
    if (sent >= vote.countsFrom) vote.take(reply, sent, epoch);
    if (this.votes.majority === undefined) this.votes.countServerOnce(vote);
    if (reply.outcome === 'held' && sent + reply.lease <= this.context.clock.now()) {
      vote.release();
      vote.fail(new LockStoreError('the reply arrived after the lease had ended', { transient: true }));
    }
    if (vote.pushed && !vote.isOpen) this.ask(vote);
    this.changed(vote);
  }

  private failed(vote: Vote, error: Error): void {
    const mayExecute = !(error instanceof LockStoreError) || error.transient;
    vote.isUnsettled ||= mayExecute;
    if (this.votes.ended === 'dropped' && mayExecute) vote.release(2 * this.context.commandTimeout);
    if (!this.isWanted) return;
    vote.fail(error);
    this.changed(vote);
  }

  /** A master has replied. A reply that comes after the last round may still change the outcome. */
  private changed(vote: Vote): void {
    if (this.running === undefined && this.votes.majority !== undefined) {
      if (vote.isAnswered) vote.raise(this.votes.majority);
    } else if (this.running !== undefined || vote.grant !== undefined) this.stir();
  }

  /** Makes a running attempt look again. Otherwise the engine asks again, if a caller waits. */
  private stir(): void {
    if (this.running !== undefined) this.votes.bell.ring();
    else if (this.request.waits) this.retry();
  }

  private win(majority: Grant): Grant {
    this.votes.majority = majority;
    for (const vote of this.votes.all) {
      if (vote.isAnswered && vote.tokenSent !== majority.token) vote.raise(majority);
    }
    return majority;
  }

  /** The votes of an adoption stay: the caller may ask again, and no client could take them again. */
  private undecided(): never {
    const { key, adopts } = this.request;
    if (adopts === undefined) this.votes.release();
    throw new LockStoreError(`the masters reached no decision about '${key}'`, { key, transient: true });
  }

  /** So many masters fail or refuse that there can be no majority. After a refusal, no request asks again. */
  private refuse(): Outcome {
    const { all, answered, refusal } = this.votes;
    this.votes.release();
    if (refusal !== undefined) {
      for (const vote of all) if (vote.standing.outcome === 'queued') vote.release();
      this.votes.ended ??= 'dropped';
      return { outcome: refusal, time: this.context.clock.now() };
    }
    this.drop();
    const errors = all.flatMap(({ isExcluded, standing }) => (isExcluded && 'error' in standing ? standing.error : []));
    throw errors.find(isLockConfigError) ?? minorityError(this.context, answered, errors, this.request.key);
  }

  /**
   * The outcome without a majority, made of the masters' replies. `splitFor`: no acquisition has one, so the vote is
   * tried again in so many ms at the latest.
   */
  private contended(splitFor?: number): ContendedReply {
    const { all, rivals } = this.votes;
    const { clock, random } = this.context;
    this.votes.release();
    const now = clock.now();
    // A master with a pending request is asked already, so its time for a retry does not count.
    const next = all.flatMap(({ isOpen, standing }) => (!isOpen && 'retryAt' in standing ? standing.retryAt : []));
    const retryAfter = Math.min(Math.min(...next) - now, splitFor ?? Infinity);
    this.drop();
    return {
      outcome: this.waits ? 'queued' : 'busy',
      time: now,
      retryAfter: Math.max(2, Number.isFinite(retryAfter) ? retryAfter : RETRY * (1 + random())),
      lastToken: Math.max(...all.map(({ lastToken }) => lastToken)),
      isSplit: splitFor !== undefined,
      holders: [...new Set(rivals)],
    };
  }

  /** If no caller needs this acquisition any more, late grants are released. */
  private drop(): void {
    if (!this.request.waits) this.votes.ended ??= 'dropped';
  }
}

import type { Clock } from '../../common/clock.js';
import { LockStoreError } from '../../errors/index.js';
import type { AcquireReply, AcquireRequest, ContendedReply } from '../lock-store.js';
import { answeredAt, hasRival, heldAt, decisionOf, type QuorumDecision } from './quorum-decision.js';
import { Contest, type Move } from './contest.js';
import { graceAfter, minorityError } from './gather.js';
import type { Member } from './member.js';
import { Reinstatement } from './reinstatement.js';
import { MemberState } from './member-state.js';
import { SplitVotes } from './split-votes.js';
import { writeToken, type Majority } from './write-token.js';

/** When somebody is asked again of whom nothing is known; up to twice as many ms. */
const ASK_AGAIN = 50;
/** How often one attempt may go round, and how often a majority may fail to take its token. */
const MOST_ROUNDS = 50;
const MOST_UNWRITTEN = 3;

/** What an acquisition needs from its surroundings. */
export interface AcquisitionEnvironment {
  readonly members: readonly Member[];
  readonly quorum: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly commandTimeout: number;
  /** Has the engine ask again. */
  retry(id: string): void;
}

/** As the engine is to hear it; a hold still without the time that has gone by since it asked. */
export type Outcome = { readonly majority: Majority } | { readonly reply: Exclude<AcquireReply, { outcome: 'held' }> };

/**
 * One acquisition over several masters: what each of them has said, and what becomes of it. Its places in the queues
 * are those of the masters; a push only says that it is worth asking.
 */
export class Acquisition {
  majority: Majority | undefined;
  readonly states: readonly MemberState[];
  private readonly since: number;
  private readonly splits: SplitVotes;
  readonly reinstatement: Reinstatement;
  private readonly contest: Contest;
  private running: Promise<Outcome> | undefined;
  private last: Promise<Outcome> | undefined;
  private again = false;
  private ended: 'released' | 'dropped' | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly environment: AcquisitionEnvironment,
    private request: AcquireRequest,
  ) {
    this.since = environment.clock.now();
    this.splits = new SplitVotes(environment.random);
    this.contest = new Contest(request.id, this.since);
    this.reinstatement = new Reinstatement(environment.clock, () =>
      this.majority === undefined || this.ended !== undefined
        ? undefined
        : { request: this.request, majority: this.majority },
    );
    this.states = environment.members.map((member) => new MemberState(member));
  }

  get key(): string {
    return this.request.key;
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

  /** What the next master is asked. The age puts it at the same place in every queue, whatever clocks say. */
  requestFor({ store }: Member): AcquireRequest {
    const { request } = this;
    const { ageBackoff } = this.splits;
    const age = Math.max(0, this.environment.clock.now() - this.since - ageBackoff);
    // Whether it may have turns is for the masters to say. Their tokens are reserved when a majority has the first of them.
    const batchSize = Math.min(request.batchSize, 2);
    return {
      ...request,
      waits: request.waits && store.listening,
      batchSize,
      uncontendedBatchSize: batchSize,
      age,
      backedOff: ageBackoff > 0,
    };
  }

  /** Asks a master. A lease counts from before that is sent, and never from an arrival. */
  expect(state: MemberState, question: () => Promise<AcquireReply>, sent = this.environment.clock.now()): void {
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
    const { clock } = this.environment;
    if (this.ended !== undefined || state.holdsAt(clock.now())) return;
    if (state.isSpoiled) return this.giveBack(state);
    if (this.majority !== undefined) return this.widen(state, this.majority);
    state.pushed = true;
    // The answer to a question that is on its way may be the grant itself.
    if (!state.isOpen) this.ask(state);
    this.stir();
  }

  /** A master says that the hold was ended by force; answers whether there is no majority any more. */
  revoked(member: Member): boolean {
    const state = this.stateOf(member);
    state.clear();
    state.countsFrom = this.environment.clock.now();
    this.reinstatement.revoked();
    if (this.majority === undefined) {
      if (this.ended === undefined) this.stir();
      return false;
    }
    return this.states.filter(({ standing }) => standing === 'held').length < this.environment.quorum;
  }

  /** It is being given back everywhere: what comes now does not concern it. */
  release(): void {
    this.ended = 'released';
    this.wake?.();
  }

  private stateOf(member: Member): MemberState {
    return this.states[member.place]!;
  }

  private get held(): MemberState[] {
    return heldAt(this.states, this.environment.clock.now());
  }

  private async run(): Promise<Outcome> {
    const { quorum, clock } = this.environment;
    let unwritten = 0;
    let yields = false;
    if (this.majority !== undefined && this.majority.until > clock.now()) return { majority: this.majority };
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      this.again = false;
      if (this.held.length < quorum) this.askAll(yields);
      yields = false;
      const decision = await this.verdict();
      if (decision === 'over') break;
      if (decision === 'held') {
        const majority = await writeToken(this.environment, this.request, this.states, () => this.isWanted);
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
        for (const state of held) this.giveBack(state);
        return this.contended(move === 'rival' ? Infinity : this.splits.retryIn());
      }
      if (!move.keeps) for (const state of held) this.giveBack(state);
      await this.majorityWithin(move.pause);
      // Those who wait keep what they have, and then have the queues decide, which are in the same order everywhere.
      yields = this.request.waits;
    }
    if (this.isWanted) {
      for (const state of this.held) this.giveBack(state);
      throw new LockStoreError(`the masters did not come to a decision about '${this.key}'`, {
        key: this.key,
        transient: true,
      });
    }
    return { reply: { outcome: 'left', time: clock.now() } };
  }

  /** What to do about a split vote; `undefined`: give everything back. */
  private nextMove(): Move | undefined {
    const { clock, quorum } = this.environment;
    if (!this.request.waits) return this.contest.move(this.states, quorum, clock.now());
    const pause = this.splits.pause(this.states);
    return pause === undefined ? undefined : { keeps: true, pause };
  }

  private get isWanted(): boolean {
    return this.ended === undefined;
  }

  /** Asks every master that is neither held nor asked already; with `yields` those that are held give it to their queue. */
  private askAll(yields: boolean): void {
    const now = this.environment.clock.now();
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

  /** Gives a grant back, and keeps no place. */
  private giveBack(state: MemberState, tombstoneFor = 0): void {
    const { key, id } = this.request;
    state.clear();
    if (!state.wasSent) return;
    // Where that fails the grant ends with its lease.
    const release = state.member.tell((store) => store.release({ key, id, tombstoneFor, keep: 0, next: undefined }));
    state.givesBack(release).catch(() => undefined);
  }

  private answered(state: MemberState, reply: AcquireReply, sent: number, epoch: number): void {
    if (this.ended === 'released') return;
    if (this.ended === 'dropped') {
      if (reply.outcome === 'held' || reply.outcome === 'queued') this.giveBack(state);
      return;
    }
    if (state.isSpoiled) {
      if (reply.outcome === 'held' || reply.outcome === 'queued') this.giveBack(state);
      return this.changed(state);
    }
    const now = this.environment.clock.now();
    state.roundTrip = now - sent;
    state.member.noteTime(reply.time, sent);
    if (sent >= state.countsFrom) state.take(reply, sent, epoch, now);
    if (reply.outcome === 'held' && sent + reply.lease <= now) {
      this.giveBack(state);
      state.fail(new LockStoreError('the answer came so late that the lease was over by then', { transient: true }));
    }
    if (state.pushed && !state.isOpen) this.ask(state);
    this.changed(state);
  }

  private failed(state: MemberState, error: Error): void {
    const isOpen = !(error instanceof LockStoreError) || error.transient;
    if (this.ended === 'dropped' && isOpen) this.giveBack(state, 2 * this.environment.commandTimeout);
    if (this.ended !== undefined) return;
    state.fail(error);
    this.changed(state);
  }

  /** A master has answered. What comes when nothing is under way any more may still change something. */
  private changed(state: MemberState): void {
    if (this.running !== undefined) this.wake?.();
    else if (this.majority !== undefined) {
      if (state.isAnswered) this.raise(state, this.majority);
    } else if (state.holdsAt(this.environment.clock.now())) this.environment.retry(this.request.id);
  }

  /** Something has happened that is worth asking about. */
  private stir(): void {
    if (this.running !== undefined) this.wake?.();
    else this.environment.retry(this.request.id);
  }

  /** Waits until it is clear what becomes of this round. */
  private async verdict(): Promise<QuorumDecision | 'over'> {
    const { clock, quorum } = this.environment;
    const since = clock.now();
    let patience = Infinity;
    while (this.isWanted) {
      const now = clock.now();
      const verdict = decisionOf(this.states, quorum, now, now >= patience);
      if (verdict !== undefined) return verdict;
      if (patience === Infinity && answeredAt(this.states, now) >= quorum) {
        patience = now + graceAfter(now - since);
      }
      await this.woken(patience);
    }
    return 'over';
  }

  /** So many masters fail, or refuse, that there can be no majority. */
  private refuse(): Outcome {
    const { quorum, clock } = this.environment;
    const { key, waits } = this.request;
    const excluded = this.states.filter((state) => state.isExcluded);
    const answered = answeredAt(this.states, clock.now());
    for (const state of this.held) this.giveBack(state);
    for (const outcome of ['upgrade', 'left'] as const) {
      if (excluded.filter(({ standing }) => standing === outcome).length <= this.states.length - quorum) continue;
      this.drop();
      return { reply: { outcome, time: clock.now() } };
    }
    if (!waits) this.drop();
    const errors = excluded.flatMap(({ error, standing }) =>
      standing === 'failed' && error !== undefined ? [error] : [],
    );
    throw minorityError(this.states.length, answered, errors, quorum, key);
  }

  private contended(atMost = Infinity): Outcome {
    const { clock, random } = this.environment;
    const { waits } = this.request;
    const now = clock.now();
    // A question on its way is asked already: when its master was to be asked is over, and no reason to hurry.
    const next = Math.min(...this.states.filter(({ isOpen }) => !isOpen).map(({ retryAt }) => retryAt));
    const askIn = Math.min(next - now, atMost);
    const reply: ContendedReply = {
      outcome: waits ? 'queued' : 'busy',
      time: now,
      retryAfter: Math.max(2, Number.isFinite(askIn) ? askIn : ASK_AGAIN * (1 + random())),
      lastToken: Math.max(...this.states.map(({ lastToken }) => lastToken)),
      holders: [...new Set(this.states.flatMap(({ holders }) => holders))],
    };
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
      if (state.isAnswered && !state.hasToken(majority.token)) this.raise(state, majority);
    return { majority };
  }

  /**
   * A master that is not needed for the majority is to know the token, too, whether it has granted the lock or not: it may be
   * the only one that remembers, when another one loses its data.
   */
  private raise(state: MemberState, { token }: Majority): void {
    const { key, id, batchSize } = this.request;
    state.member.ask((store) => store.fence({ key, id, token, batchSize })).catch(() => undefined);
  }

  /** A master has granted what a majority holds already: it gets the full lease there, too. */
  private widen(state: MemberState, majority: Majority): void {
    const { key, id } = this.request;
    const lease = Math.ceil(majority.until - this.environment.clock.now());
    if (lease <= 0) return;
    state.standing = 'held';
    state.member.ask((store) => store.renew([{ key, id, lease }])).catch(() => undefined);
    this.raise(state, majority);
  }

  /** Resolves when a majority holds it, or after `ms`. */
  private async majorityWithin(ms: number): Promise<void> {
    const { clock, quorum } = this.environment;
    const end = clock.now() + ms;
    while (this.isWanted && this.held.length < quorum && clock.now() < end) await this.woken(end);
  }

  /** Resolves when something has happened, or at `at`. */
  private woken(at: number): Promise<void> {
    const { clock } = this.environment;
    return new Promise((resolve) => {
      const timer =
        at === Infinity ? undefined : clock.setTimer(Math.max(1, Math.ceil(at - clock.now())), () => this.wake?.());
      this.wake = () => {
        clock.clearTimer(timer);
        this.wake = undefined;
        resolve();
      };
    });
  }
}

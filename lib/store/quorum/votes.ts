import { LockStoreError } from '../../errors/index.js';
import type { AcquireReply, AcquireRequest } from '../lock-store.js';
import type { FenceReply } from '../quorum-member.js';
import type { Member } from './membership.js';
import { repliedBefore, type QuorumContext } from './round.js';

/** The state of an acquisition on one master; `none`: it has neither a hold nor a ticket there, or this is unknown. */
type Standing = 'none' | 'failed' | AcquireReply['outcome'];

const EXCLUDING: readonly Standing[] = ['failed', 'left', 'upgrade'];

const LATE = 'the connection was lost during the release of a vote, which may still be executed at any time';

/** A majority that holds the lock and has accepted its token. */
export interface Majority {
  readonly token: number;
  /** How many tokens are reserved for the batch. */
  readonly batchSize: number;
  /** Until when the majority holds it, by the client's clock. */
  until: number;
  /** The earliest moment from which one of its leases counts. */
  readonly from: number;
}

/** What one master knows of one acquisition: its replies, and the commands that change its vote. */
export class MemberState {
  standing: Standing = 'none';
  /** The number of pending requests. */
  asking = 0;
  /** Whether a request was ever sent to the master while it was reachable. It may still be executed. */
  wasSent = false;
  /** A message has announced a grant that no reply has confirmed yet. */
  pushed = false;
  /** How many ms the last reply took. */
  roundTrip = 0;
  /** Until when the client may rely on this vote, counted from when the request was sent. */
  until = 0;
  /** When that request was sent. */
  from = 0;
  token = 0;
  /** Whether this master permits a batch. */
  takesTurns = false;
  /** Other holders on this master. */
  holders: readonly string[] = [];
  /** When to retry. */
  retryAt = Infinity;
  lastToken = 0;
  error: Error | undefined;
  /**
   * It is unknown whether a vote has been released. The release may be executed later, and would then end the next
   * grant of the same acquisition. So no grant of this master counts any more.
   */
  isSpoiled = false;
  /** A vote that was to be reinstated may exist, or may be taken later. */
  isUnsettled = false;
  /** Replies to requests that were sent before this moment do not count. */
  countsFrom = -Infinity;
  private epoch = 0;
  /** The server that gave the last reply, if it is known. */
  private server: string | undefined;

  constructor(
    readonly member: Member,
    private readonly of: Pick<AcquireRequest, 'key' | 'id'>,
  ) {}

  /** Whether the vote counts now. After a lost connection, the master has to be asked again. */
  holdsAt(now: number): boolean {
    const counts = this.standing === 'held' && !this.isSpoiled;
    return counts && this.until > now && this.epoch === this.member.store.epoch;
  }

  /** Whether the master may still execute a request for this hold. */
  get mayAnswer(): boolean {
    return this.isOpen || this.isUnsettled;
  }

  /** Whether the master's next reply is still open. */
  get isOpen(): boolean {
    return this.asking > 0;
  }

  /** Whether the master has replied and no request is pending. */
  get isAnswered(): boolean {
    return this.asking === 0 && this.standing !== 'none' && this.standing !== 'failed';
  }

  /** Whether the master will not grant this request. */
  get isExcluded(): boolean {
    return this.asking === 0 && EXCLUDING.includes(this.standing);
  }

  /** Resolves with the reply to a command that releases the vote. If its connection is lost, the vote is spoiled. */
  async afterRelease<T>(command: Promise<T>): Promise<T> {
    const { epoch } = this.member.store;
    try {
      const reply = await command;
      if (epoch !== this.member.store.epoch) this.spoil();
      return reply;
    } catch (error) {
      this.spoil();
      throw error;
    }
  }

  /** Releases the vote, and gives up the place in the queue. A failure needs no report: the vote ends with its lease. */
  release(tombstoneFor = 0): void {
    const { key, id } = this.of;
    this.clear();
    if (!this.wasSent) return;
    const release = this.member.tell((store) => store.release({ key, id, tombstoneFor, keep: 0, next: undefined }));
    this.afterRelease(release).catch(() => undefined);
  }

  /**
   * Sends the token to a master that the majority does not need, whether or not it has granted the lock. After another
   * master has lost its data, it may be the only master that remembers the token.
   */
  raise({ token, batchSize }: Majority): void {
    const { key, id } = this.of;
    this.member.ask((store) => store.fence({ key, id, token, batchSize })).catch(() => undefined);
  }

  /** Gives a vote that came after the majority the full lease and the token. */
  widen(majority: Majority, now: number): void {
    const { key, id } = this.of;
    const lease = Math.ceil(majority.until - now);
    if (lease <= 0) return;
    this.standing = 'held';
    this.member.ask((store) => store.renew([{ key, id, lease }])).catch(() => undefined);
    this.raise(majority);
  }

  private spoil(): void {
    this.isSpoiled = true;
    this.fail(new LockStoreError(LATE, { transient: true }));
  }

  take(reply: AcquireReply, sent: number, epoch: number, now: number): void {
    this.standing = reply.outcome;
    this.epoch = epoch;
    this.server = this.member.server;
    this.error = undefined;
    this.holders = [];
    this.retryAt = Infinity;
    if (reply.outcome === 'held') {
      this.until = sent + reply.lease;
      this.from = sent;
      this.token = reply.token;
      this.takesTurns = reply.batchSize > 1;
      this.pushed = false;
    } else if (reply.outcome === 'queued' || reply.outcome === 'busy') {
      this.holders = reply.holders;
      this.retryAt = now + reply.retryAfter;
      this.lastToken = Math.max(this.lastToken, reply.lastToken);
    }
  }

  /** Drops the replies of other masters that came from the same server: the addresses have changed since. */
  countServerOnce(states: readonly MemberState[]): void {
    if (this.server === undefined) return;
    for (const other of states) {
      if (other === this || !other.isAnswered || other.server !== this.server) continue;
      other.fail(repliedBefore(this.member));
      other.holders = [];
    }
  }

  /** Whether the hold on this master has this token. */
  hasToken(token: number): boolean {
    return this.standing === 'held' && this.token === token;
  }

  /**
   * Takes the reply to a request that raised the token of the hold. It may contradict an earlier reply: a late command may
   * have released the hold in the meantime, and the queue may have granted a shorter one.
   */
  fenced(reply: FenceReply, token: number, sent: number, now: number): void {
    if (sent < this.countsFrom || this.standing !== 'held') return;
    if (reply.outcome === 'not-held') {
      if (!this.isOpen) this.clear();
      return;
    }
    const certain = sent + reply.lease;
    this.until = this.until > now + reply.lease ? certain : Math.max(this.until, certain);
    if (reply.outcome === 'written') this.token = token;
  }

  fail(error: Error): void {
    this.standing = 'failed';
    this.error = error;
    this.retryAt = Infinity;
  }

  /** Forgets the hold and the ticket on this master. */
  clear(): void {
    this.standing = this.isSpoiled ? 'failed' : 'none';
    this.pushed = false;
    this.holders = [];
    this.retryAt = Infinity;
  }
}

/** A master that was frozen makes a try no longer than a distant one does. */
export const LONGEST_TRIP = 250;

/** `impossible`: so many masters fail or refuse that there can be no majority, whatever other clients do. */
export type QuorumDecision = 'held' | 'impossible' | 'contended';

/** The votes of one acquisition: its state on each master. */
export class Votes {
  readonly states: readonly MemberState[];

  constructor(
    private readonly context: QuorumContext,
    private readonly of: Pick<AcquireRequest, 'key' | 'id'>,
  ) {
    this.states = context.members.map((member) => new MemberState(member, of));
  }

  /** The masters whose votes count now. */
  get held(): MemberState[] {
    const now = this.context.clock.now();
    return this.states.filter((state) => state.holdsAt(now));
  }

  get areMajority(): boolean {
    return this.held.length >= this.context.quorum;
  }

  /** How many masters have a known state. */
  get answered(): number {
    const now = this.context.clock.now();
    return this.states.filter((state) => state.isAnswered || state.holdsAt(now)).length;
  }

  /** The known holders of the votes that this acquisition lacks. */
  get rivals(): string[] {
    return this.states.flatMap(({ holders }) => holders);
  }

  /** The slowest measured round trip to a master, in ms. */
  get roundTrip(): number {
    return Math.min(Math.max(...this.states.map(({ roundTrip }) => roundTrip)), LONGEST_TRIP);
  }

  /**
   * The decision that follows from the replies so far; `undefined`: it depends on pending replies. With `last` set, these
   * are not awaited.
   */
  decision(last: boolean): QuorumDecision | undefined {
    const { held } = this;
    if (held.length >= this.context.quorum) return 'held';
    const open = last ? 0 : this.states.filter((state) => state.isOpen && !held.includes(state)).length;
    if (held.length + open >= this.context.quorum) return undefined;
    return this.hasMinorityWithout(({ isExcluded }) => isExcluded) ? 'impossible' : 'contended';
  }

  /** Whether another client has a majority. */
  get areLost(): boolean {
    const votes = new Map<string, number>();
    for (const holder of this.states.flatMap(({ isOpen, holders }) => (isOpen ? [] : holders))) {
      votes.set(holder, (votes.get(holder) ?? 0) + 1);
    }
    votes.delete(this.of.id);
    return Math.max(...votes.values()) >= this.context.quorum;
  }

  /** The refusal of so many masters that there can be no majority, if its reason lies in the request. */
  get refusal(): 'upgrade' | 'left' | undefined {
    return (['upgrade', 'left'] as const).find((outcome) =>
      this.hasMinorityWithout(({ isExcluded, standing }) => isExcluded && standing === outcome),
    );
  }

  /** Whether the masters of this kind are so many that the others are no majority. */
  hasMinorityWithout(isOfKind: (state: MemberState) => boolean): boolean {
    return this.states.filter(isOfKind).length > this.states.length - this.context.quorum;
  }

  /** Releases the votes that count now. */
  release(): void {
    for (const state of this.held) state.release();
  }
}

import { LockStoreError } from '../../errors/index.js';
import type { AcquireReply, AcquireRequest } from '../lock-store.js';
import type { FenceReply } from '../quorum-member.js';
import type { Member } from './membership.js';
import type { QuorumContext } from './round.js';

/** What one master, or a majority, has granted. */
export interface Grant {
  /** Until when the client may rely on it, by its own clock, counted from when the request was sent. */
  until: number;
  /** When that request was sent: the earliest one for a majority. */
  readonly from: number;
  token: number;
  /** How many tokens are reserved for the batch. */
  readonly batchSize: number;
}

/** A grant of a master, and the epoch of its connection when the request was sent. */
type HeldStanding = Grant & { readonly outcome: 'held'; readonly epoch: number };

/** Where an acquisition stands with a master. `none`: it has neither a hold nor a ticket there, or this is unknown. */
type Standing =
  | HeldStanding
  | { readonly outcome: 'queued' | 'busy'; readonly holders: readonly string[]; readonly retryAt: number }
  | { readonly outcome: 'failed'; readonly error: Error }
  | { readonly outcome: 'none' | 'left' | 'upgrade' | 'too many' };

const NONE: Standing = { outcome: 'none' };
const EXCLUDING: ReadonlyArray<Standing['outcome']> = ['failed', 'left', 'upgrade'];

const LATE = 'the connection was lost during the release of a vote, which may still be executed at any time';

/** One acquisition on one master: what the master has replied, and the commands that change its vote. */
export class Vote {
  standing: Standing = NONE;
  /** The number of pending requests. */
  asking = 0;
  /** Whether a request was ever sent to the master while it was reachable. It may still be executed. */
  wasSent = false;
  /** A message has announced a grant that no reply has confirmed yet. */
  pushed = false;
  lastToken = 0;
  /**
   * It is unknown whether a vote has been released. The release may be executed later, and would then end the next
   * grant of the same acquisition. So no grant of this master counts any more.
   */
  isSpoiled = false;
  /** A request without a reply may have taken the vote, or may take it later. */
  isUnsettled = false;
  /** Replies to requests that were sent before this moment do not count. */
  countsFrom = -Infinity;
  /** The last token that was sent to the master. */
  tokenSent = 0;
  /** The server that gave the last reply, if it is known. */
  server: string | undefined;

  constructor(
    private readonly context: QuorumContext,
    readonly member: Member,
    private readonly of: Pick<AcquireRequest, 'key' | 'id'>,
  ) {}

  /** The grant, if it counts now. After a lost connection, the master has to be asked again. */
  get grant(): Grant | undefined {
    const { standing, member, context } = this;
    if (standing.outcome !== 'held' || standing.until <= context.clock.now()) return undefined;
    return standing.epoch === member.store.epoch ? standing : undefined;
  }

  /** Other holders on this master. */
  get holders(): readonly string[] {
    return 'holders' in this.standing ? this.standing.holders : [];
  }

  /** For how many ms the last release has to leave a tombstone: the master may still execute a request for this hold. */
  get tombstoneFor(): number {
    return this.isOpen || this.isUnsettled || this.isSpoiled ? 2 * this.context.commandTimeout : 0;
  }

  /** Whether the master's next reply is still open. */
  get isOpen(): boolean {
    return this.asking > 0;
  }

  /** Whether the master has replied and no request is pending. */
  get isAnswered(): boolean {
    return !this.isOpen && this.standing.outcome !== 'none' && this.standing.outcome !== 'failed';
  }

  /** Whether the master will not grant this request. */
  get isExcluded(): boolean {
    return !this.isOpen && EXCLUDING.includes(this.standing.outcome);
  }

  /** Resolves with the reply to a command that releases the vote. If its connection is lost, the vote is spoiled. */
  async afterRelease<T>(command: Promise<T>): Promise<T> {
    const { epoch } = this.member.store;
    let isCertain = false;
    try {
      const reply = await command;
      isCertain = epoch === this.member.store.epoch;
      return reply;
    } finally {
      if (!isCertain) this.spoil();
    }
  }

  /** Releases the vote, and gives up the place in the queue. A failure needs no report: the vote ends with its lease. */
  release(tombstoneFor = this.isSpoiled ? this.tombstoneFor : 0, keep = 0): void {
    this.clear();
    if (!this.wasSent) return;
    const release = { ...this.of, tombstoneFor, keep, next: undefined };
    this.afterRelease(this.member.tell((store) => store.release(release))).catch(() => undefined);
  }

  /**
   * Sends the token to a master that the majority does not need, whether or not it has granted the lock. After another
   * master has lost its data, it may be the only master that remembers the token.
   */
  raise({ token, batchSize }: Grant): void {
    this.fence(token, batchSize).catch(() => undefined);
  }

  /** Gives a vote that came after the majority the full lease and the token. */
  widen(majority: Grant): void {
    const lease = Math.ceil(majority.until - this.context.clock.now());
    if (lease <= 0) return;
    this.join(majority);
    this.member.ask((store) => store.renew([{ ...this.of, lease }])).catch(() => undefined);
    this.raise(majority);
  }

  /** A majority has this hold, and so has this master. */
  join(majority: Grant): void {
    this.standing = { ...majority, outcome: 'held', epoch: this.member.store.epoch };
  }

  take(reply: AcquireReply, sent: number, epoch: number): void {
    if (reply.outcome === 'held') {
      const { outcome, token, lease, batchSize } = reply;
      this.standing = { outcome, epoch, until: sent + lease, from: sent, token, batchSize };
      this.pushed = false;
    } else if ('retryAfter' in reply) {
      const { outcome, holders, retryAfter, lastToken } = reply;
      this.standing = { outcome, holders, retryAt: this.context.clock.now() + retryAfter };
      this.lastToken = Math.max(this.lastToken, lastToken);
    } else this.standing = reply;
  }

  /**
   * Raises the token of the hold. The reply may contradict an earlier one: a late command may have released the hold in the
   * meantime, and the queue may have granted a shorter one.
   * @throws LockStoreError if the master fails
   */
  async fence(token: number, batchSize: number): Promise<FenceReply> {
    const { clock } = this.context;
    const sent = clock.now();
    this.tokenSent = token;
    const reply = await this.member.ask((store) => store.fence({ ...this.of, token, batchSize }));
    const { standing } = this;
    if (sent < this.countsFrom || standing.outcome !== 'held') return reply;
    if (reply.outcome === 'not-held') {
      if (!this.isOpen) this.clear();
      return reply;
    }
    const certain = sent + reply.lease;
    standing.until = standing.until > clock.now() + reply.lease ? certain : Math.max(standing.until, certain);
    if (reply.outcome === 'written') standing.token = token;
    return reply;
  }

  fail(error: Error): void {
    this.standing = { outcome: 'failed', error };
  }

  /** Forgets the hold and the ticket on this master. */
  clear(): void {
    this.pushed = false;
    if (this.isSpoiled) this.spoil();
    else this.standing = NONE;
  }

  private spoil(): void {
    this.isSpoiled = true;
    this.fail(new LockStoreError(LATE, { transient: true }));
  }
}

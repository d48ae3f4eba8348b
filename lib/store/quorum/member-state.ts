import { LockStoreError } from '../../errors/index.js';
import type { AcquireReply } from '../lock-store.js';
import type { FenceReply } from '../quorum-member.js';
import type { Member } from './member.js';

/** How an acquisition stands with one master; `none`: nothing there, or nothing known. */
type Standing = 'none' | 'failed' | AcquireReply['outcome'];

const EXCLUDING: readonly Standing[] = ['failed', 'left', 'upgrade'];

const LATE = 'a grant that was being given back when the connection was lost may be given back at any time';

/** What one master has said to one acquisition. */
export class MemberState {
  standing: Standing = 'none';
  /** How many questions are on their way. */
  asking = 0;
  /** Whether it was ever asked when it could be reached: that may be carried out yet. */
  wasSent = false;
  /** A grant was pushed that no answer has confirmed yet. */
  pushed = false;
  /** How many ms the last answer took. */
  roundTrip = 0;
  /** Until when the hold is believed here, counted from the sending of the question. */
  until = 0;
  /** When that question was sent. */
  from = 0;
  token = 0;
  /** Whether others of the client may have it in turn, as this master sees it. */
  takesTurns = false;
  /** Others who hold it here. */
  holders: readonly string[] = [];
  /** When to ask again. */
  retryAt = Infinity;
  lastToken = 0;
  error: Error | undefined;
  /**
   * It is not known whether a grant has been given back. That may be carried out later, and would then take away the next
   * grant of the same acquisition: so none counts here any more.
   */
  isSpoiled = false;
  /** A vote that was to be taken again may have been, or may be yet. */
  isUnsettled = false;
  /** Answers to what was sent before this do not count. */
  countsFrom = -Infinity;
  private epoch = 0;

  constructor(readonly member: Member) {}

  /** Whether the hold here counts now. What was told before a connection was lost is asked anew. */
  holdsAt(now: number): boolean {
    const counts = this.standing === 'held' && !this.isSpoiled;
    return counts && this.until > now && this.epoch === this.member.store.epoch;
  }

  /** Whether something may be carried out here yet that was asked for the hold. */
  get mayAnswer(): boolean {
    return this.isOpen || this.isUnsettled;
  }

  /** Whether it is not known how this master will answer. */
  get isOpen(): boolean {
    return this.asking > 0;
  }

  /** Whether it has answered, and was asked nothing since. */
  get isAnswered(): boolean {
    return this.asking === 0 && this.standing !== 'none' && this.standing !== 'failed';
  }

  /** Whether it will not grant this. */
  get isExcluded(): boolean {
    return this.asking === 0 && EXCLUDING.includes(this.standing);
  }

  /** A grant is being given back by a command that has just been sent. */
  async givesBack<T>(command: Promise<T>): Promise<T> {
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

  private spoil(): void {
    this.isSpoiled = true;
    this.fail(new LockStoreError(LATE, { transient: true }));
  }

  take(reply: AcquireReply, sent: number, epoch: number, now: number): void {
    this.standing = reply.outcome;
    this.epoch = epoch;
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

  /** Whether its hold has this token. */
  hasToken(token: number): boolean {
    return this.standing === 'held' && this.token === token;
  }

  /** What it said when the token of its hold was to be raised. */
  fenced(reply: FenceReply, token: number, sent: number): void {
    if (sent < this.countsFrom || this.standing !== 'held') return;
    if (reply.outcome === 'gone') {
      if (!this.isOpen) this.clear();
      return;
    }
    this.until = Math.max(this.until, sent + reply.lease);
    if (reply.outcome === 'written') this.token = token;
  }

  fail(error: Error): void {
    this.standing = 'failed';
    this.error = error;
    this.retryAt = Infinity;
  }

  /** Nothing is held here any more, and no place is kept. */
  clear(): void {
    this.standing = this.isSpoiled ? 'failed' : 'none';
    this.pushed = false;
    this.holders = [];
    this.retryAt = Infinity;
  }
}

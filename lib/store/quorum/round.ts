import type { Clock } from '../../common/clock.js';
import { LockStoreError } from '../../errors/index.js';
import type { ReleaseReply, RenewReply } from '../lock-store.js';
import type { QuorumMember } from '../quorum-member.js';
import type { Member } from './membership.js';

/** The record that all parts of a quorum share. */
export interface QuorumContext {
  readonly members: readonly Member[];
  /** How many members are a majority. */
  readonly quorum: number;
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** ms */
  readonly commandTimeout: number;
}

/** The replies of several masters so far, in the order of the masters. */
export type Answers<T> = ReadonlyArray<PromiseSettledResult<T> | undefined>;

/** If a majority has replied and the outcome is still open, slow masters get at least this many ms more. */
const SHORTEST_GRACE = 10;
const LONGEST_GRACE = 100;

/** The slower the majority was, the more time the others get. */
export const graceAfter = (ms: number): number => Math.min(Math.max(2 * ms, SHORTEST_GRACE), LONGEST_GRACE);

export interface GatherTerms {
  readonly quorum: number;
  readonly clock: Clock;
  /** How many ms the other masters get after a majority took `ms`; `undefined`: until all have answered or failed. */
  readonly graceAfter?: (ms: number) => number | undefined;
}

/** Wakes the one function that waits for it. */
export class Bell {
  private wake: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /** Something has changed that the waiting function should look at. */
  ring(): void {
    this.wake?.();
  }

  /** Resolves at the next ring, or at `time`. */
  rung(time: number): Promise<void> {
    const { clock } = this;
    return new Promise((resolve) => {
      const woken = (): void => {
        clock.clearTimer(timer);
        this.wake = undefined;
        resolve();
      };
      const timer = time === Infinity ? undefined : clock.setTimer(Math.max(1, Math.ceil(time - clock.now())), woken);
      this.wake = woken;
    });
  }
}

/**
 * Passes the replies to `decide` as they come, until it returns an outcome. It returns `undefined` as long as the
 * outcome is open. With `last` set, no more replies are awaited, and an error that it throws is the outcome.
 * @param look is asked again and again after the first reply, for an outcome that does not come from the replies
 */
export async function gather<T, R>(
  asks: ReadonlyArray<Promise<T>>,
  { quorum, clock, graceAfter: graceOf = graceAfter }: GatherTerms,
  decide: (answers: Answers<T>, last: boolean) => R | undefined,
  look?: () => R | undefined,
): Promise<R> {
  const answers: Array<PromiseSettledResult<T> | undefined> = asks.map(() => undefined);
  const bell = new Bell(clock);
  const came = (i: number, answer: PromiseSettledResult<T>): void => {
    answers[i] = answer;
    bell.ring();
  };
  asks.forEach((ask, i) => {
    ask.then(
      (value) => came(i, { status: 'fulfilled', value }),
      (reason: unknown) => came(i, { status: 'rejected', reason }),
    );
  });
  const since = clock.now();
  let pause: number | undefined;
  let [end, lookAt] = [Infinity, Infinity];
  for (;;) {
    await bell.rung(Math.min(end, lookAt));
    const now = clock.now();
    const last = now >= end || !answers.includes(undefined);
    const result = decide(answers, last) ?? (now >= lookAt ? look?.() : undefined);
    if (result !== undefined) return result;
    if (last) throw tooFew(answers, quorum);
    if (look !== undefined && (pause === undefined || now >= lookAt)) {
      pause ??= graceAfter(now - since);
      lookAt = now + pause;
    }
    if (end === Infinity && valuesOf(answers).length >= quorum) end = now + (graceOf(now - since) ?? Infinity);
  }
}

/** Waits for all masters that answer in time. @throws LockStoreError if so many have failed that the rest is no majority */
export const gatherAll = <T>(asks: ReadonlyArray<Promise<T>>, terms: GatherTerms): Promise<Answers<T>> =>
  gather(asks, terms, (answers, last) => {
    refuseMinority(answers, terms.quorum);
    return last ? [...answers] : undefined;
  });

/** Resolves to an answer, or to another one after `ms`. */
export async function orAfter<T>(clock: Clock, ms: number, answer: Promise<T>, otherwise: T): Promise<T> {
  let timer: unknown;
  const limit = new Promise<T>((resolve) => {
    timer = clock.setTimer(ms, () => resolve(otherwise));
  });
  const first = await Promise.race([answer, limit]);
  clock.clearTimer(timer);
  return first;
}

export const valuesOf = <T>(answers: Answers<T>): T[] =>
  answers.flatMap((answer) => (answer?.status === 'fulfilled' ? [answer.value] : []));

export const errorsOf = <T>(answers: Answers<T>): Error[] =>
  answers.flatMap((answer) => (answer?.status === 'rejected' ? [answer.reason as Error] : []));

/** @throws LockStoreError if so many masters have failed that the rest is no majority */
export function refuseMinority<T>(answers: Answers<T>, quorum: number): void {
  if (errorsOf(answers).length > answers.length - quorum) throw tooFew(answers, quorum);
}

const tooFew = <T>(answers: Answers<T>, quorum: number): LockStoreError =>
  minorityError(answers.length, valuesOf(answers).length, errorsOf(answers), quorum);

/** Returns an error that says how many masters answered, and why the others did not. */
export function minorityError(
  masters: number,
  answered: number,
  errors: readonly Error[],
  quorum: number,
  key?: string,
): LockStoreError {
  const lasting = errors.filter((error) => !(error instanceof LockStoreError && error.transient));
  const why = [...new Set(errors.map(({ message }) => message))].join('; ');
  const need = answered < quorum ? `${quorum} are needed` : `${quorum} have to agree`;
  const [cause] = lasting.length > masters - quorum ? lasting : errors;
  return new LockStoreError(
    `${answered} of ${masters} masters answered, but ${need}${why === '' ? '' : `: ${why}`}`,
    // A retry is of no use if too many masters refuse for good.
    {
      key: key ?? (cause instanceof LockStoreError ? cause.key : undefined),
      cause,
      transient: lasting.length <= masters - quorum,
    },
  );
}

/** The `count`-th largest. */
export const nthLargest = (numbers: readonly number[], count: number): number | undefined =>
  [...numbers].sort((a, b) => b - a)[count - 1];

/**
 * The replies of one round of requests. A server counts once, whatever addresses lead to it: after its reply, the
 * connection may be lost, and another address may lead to the same server while the round is still open.
 */
export class Round {
  private readonly servers = new Map<string, Member>();

  /**
   * Asks a member.
   * @throws LockStoreError if its server has replied in this round by another address
   */
  async ask<T>(member: Member, question: (store: QuorumMember) => Promise<T>): Promise<T> {
    const reply = await member.ask(question);
    const { server } = member;
    if (server === undefined) return reply;
    const earlier = this.servers.get(server);
    if (earlier !== undefined && earlier !== member) throw repliedBefore(earlier);
    this.servers.set(server, member);
    return reply;
  }
}

/** Asks all members in one round. */
export function askEach<T>(
  members: readonly Member[],
  question: (store: QuorumMember) => Promise<T>,
): Array<Promise<T>> {
  const round = new Round();
  return members.map((member) => round.ask(member, question));
}

/** The error of a master whose server has replied by another address. */
export const repliedBefore = ({ place }: Member): LockStoreError =>
  new LockStoreError(`the same server has replied as master ${place + 1} of connection, so its reply counts once`, {
    transient: true,
  });

/**
 * Whether a lock was released. It counts as released unless it is certain that a majority did not have it any more.
 * @throws LockStoreError if so many masters fail that the rest is no majority
 */
export function tallyRelease(
  answers: Answers<ReleaseReply>,
  quorum: number,
  last: boolean,
): 'released' | 'was not held' | undefined {
  refuseMinority(answers, quorum);
  const values = valuesOf(answers);
  const notHeld = values.filter(({ released }) => !released).length;
  if (notHeld >= quorum) return 'was not held';
  if (last) return 'released';
  const open = answers.length - values.length - errorsOf(answers).length;
  return values.length >= quorum && notHeld + open < quorum ? 'released' : undefined;
}

/** How long a lease lasts on a majority, at least. */
export function tallyRenewal(answers: Answers<RenewReply>, quorum: number, last: boolean): RenewReply | undefined {
  const most = answers.length - quorum;
  const replies = valuesOf(answers);
  const left = replies.filter((reply) => typeof reply === 'number');
  const notHeld = replies.filter((reply) => reply === 'not-held').length;
  const errors = [...errorsOf(answers), ...replies.filter((reply) => reply instanceof Error)];
  // More replies can only raise this.
  if (left.length >= quorum) return nthLargest(left, quorum);
  if (notHeld > most) return 'not-held';
  const open = answers.length - left.length - notHeld - errors.length;
  if (!last && (left.length + open >= quorum || notHeld + open > most)) return undefined;
  return minorityError(answers.length, left.length + notHeld, errors, quorum);
}

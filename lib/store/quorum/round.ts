import { errorsOf, gatherAnswers, repliesOf, type Answers, type Grace } from '../../common/answers.js';
import type { Clock } from '../../common/clock.js';
import { isLockConfigError, LockStoreError } from '../../errors/index.js';
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

/** If a majority has replied and the outcome is still open, slow masters get at least this many ms more. */
export const SHORTEST_GRACE = 10;
const LONGEST_GRACE = 100;

/** The slower the majority was, the more time the others get. */
export const graceAfter = (ms: number): number => Math.min(Math.max(2 * ms, SHORTEST_GRACE), LONGEST_GRACE);

/**
 * Asks all members in one round. A server counts once, whatever addresses lead to it: after its reply, the connection may
 * be lost, and another address may lead to the same server while the round is still open. `releases`: the question is a
 * release, which is sent even if a connection has just been lost.
 */
export function askEach<T>(
  { members }: QuorumContext,
  question: (store: QuorumMember, index: number) => Promise<T>,
  releases = false,
): Array<Promise<T>> {
  const firstOf = new Map<string | undefined, Member>();
  return members.map(async (member) => {
    const put = releases && member.store.unreachable === undefined ? 'tell' : 'ask';
    const reply = await member[put]((store) => question(store, member.index));
    const first = firstOf.get(member.server) ?? member;
    if (first !== member) throw repliedBefore(first);
    if (member.server !== undefined) firstOf.set(member.server, member);
    return reply;
  });
}

/** The error of a master whose server has replied by another address. */
export const repliedBefore = ({ index }: Member): LockStoreError =>
  new LockStoreError(`the same server has replied as master ${index + 1} of connection, so its reply counts once`, {
    transient: true,
  });

/** Passes the answers of masters to `decide`. The last ones get as much time as `grace` says, once a majority has replied. */
export const gather = <T, R>(
  { quorum, clock }: QuorumContext,
  asked: ReadonlyArray<Promise<T>>,
  decide: (answers: Answers<T>, last: boolean) => R | undefined,
  grace: Grace = graceAfter,
): Promise<R> =>
  gatherAnswers(clock, asked, decide, (ms, answers) => (repliesOf(answers).length < quorum ? undefined : grace(ms)));

/**
 * Waits for all masters that answer in time. `key`: the key that they are asked about, if it is one.
 * @throws LockStoreError if so many have failed that the rest is no majority
 */
export function gatherAll<T>(
  context: QuorumContext,
  asked: ReadonlyArray<Promise<T>>,
  key: string | undefined,
  grace?: Grace,
): Promise<Answers<T>> {
  const decide = (answers: Answers<T>, last: boolean): Answers<T> | undefined => {
    refuseMinority(context, answers, key);
    return last ? [...answers] : undefined;
  };
  return gather(context, asked, decide, grace);
}

/**
 * @throws LockStoreError if so many masters have failed that the rest is no majority. LockConfigError if one of them can never be
 *   a member
 */
function refuseMinority(context: QuorumContext, answers: Answers<unknown>, key: string | undefined): void {
  const errors = errorsOf(answers);
  if (!isMinorityWithout(context, errors.length)) return;
  throw errors.find(isLockConfigError) ?? minorityError(context, repliesOf(answers).length, errors, key);
}

/** Whether a majority has this property. */
export const isMajority = ({ members, quorum }: QuorumContext, has: (store: QuorumMember) => boolean): boolean =>
  members.filter(({ store }) => has(store)).length >= quorum;

/** Whether so many masters are missing that the rest is no majority. */
export const isMinorityWithout = ({ members, quorum }: QuorumContext, count: number): boolean =>
  count > members.length - quorum;

/** Returns an error that says how many masters answered, and why the others did not. `key`: the key that they were asked about. */
export function minorityError(
  context: QuorumContext,
  answered: number,
  errors: readonly Error[],
  key: string | undefined,
): LockStoreError {
  const { members, quorum } = context;
  const lasting = errors.filter((error) => !(error instanceof LockStoreError && error.transient));
  // A retry is of no use if too many masters refuse for good.
  const transient = !isMinorityWithout(context, lasting.length);
  const [cause] = transient ? errors : lasting;
  const why = [...new Set(errors.map(({ message }) => message))].join('; ');
  const need = answered < quorum ? `${quorum} are needed` : `${quorum} have to agree`;
  return new LockStoreError(
    `${answered} of ${members.length} masters answered, but ${need}${why === '' ? '' : `: ${why}`}`,
    { key, cause, transient },
  );
}

/** The `count`-th largest of some numbers. */
export const nthLargest = (count: number, numbers: readonly number[]): number | undefined =>
  [...numbers].sort((a, b) => b - a)[count - 1];

/**
 * Whether a lock was released. It counts as released unless it is certain that a majority did not have it any more.
 * @throws LockStoreError if so many masters fail that the rest is no majority
 */
export function tallyRelease(
  context: QuorumContext,
  answers: Answers<ReleaseReply>,
  last: boolean,
  key: string,
): boolean | undefined {
  refuseMinority(context, answers, key);
  const replies = repliesOf(answers);
  const held = replies.filter(({ released }) => released).length;
  if (replies.length - held >= context.quorum) return false;
  return last || isMinorityWithout(context, held) || undefined;
}

/** How long a lease lasts on a majority, at least. */
export function tallyRenewal(
  context: QuorumContext,
  answers: ReadonlyArray<RenewReply | undefined>,
  last: boolean,
  key: string,
): RenewReply | undefined {
  const { quorum } = context;
  const left = answers.filter((answer) => typeof answer === 'number');
  const notHeld = answers.filter((answer) => answer === 'not-held').length;
  const open = answers.filter((answer) => answer === undefined).length;
  // More replies can only raise this.
  if (left.length >= quorum) return nthLargest(quorum, left);
  if (isMinorityWithout(context, notHeld)) return 'not-held';
  if (!last && (left.length + open >= quorum || isMinorityWithout(context, notHeld + open))) return undefined;
  return minorityError(context, left.length + notHeld, errorsOf(answers), key);
}

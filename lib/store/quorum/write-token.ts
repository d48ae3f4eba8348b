import { LockStoreError } from '../../errors/index.js';
import type { AcquireRequest } from '../lock-store.js';
import type { FenceReply, FenceRequest } from '../quorum-member.js';
import { heldAt } from './quorum-decision.js';
import { gather, graceAfter, nthLargest, type Answers } from './gather.js';
import type { MemberState } from './member-state.js';
import type { QuorumContext } from './quorum-context.js';

/** How often a token is raised above those that others have had meanwhile, and by how much more each time. */
const MOST_RAISES = 6;
const RAISE = 8;

/** A majority holds it, and has its token. */
export interface Majority {
  readonly token: number;
  /** How many may have it in turn. */
  readonly batchSize: number;
  /** Until when, on our clock. */
  until: number;
  /** The earliest moment from which one of its leases is counted. */
  readonly from: number;
}

/**
 * Writes the largest token that any master has told of to a majority. Two majorities have a master in common, so a later holder's token is
 * larger, whatever the masters' clocks say. `undefined`: there was no majority for it.
 * @throws LockStoreError when others who share the lock were faster all the time
 */
export async function writeToken(
  context: QuorumContext,
  { key, id, batchSize: reserved }: AcquireRequest,
  states: readonly MemberState[],
  isWanted: () => boolean,
): Promise<Majority | undefined> {
  const { quorum, clock, random } = context;
  // Also of those that did not grant it: what they remember may be forgotten where it counts.
  let token = Math.max(
    ...heldAt(states, clock.now()).map((state) => state.token),
    ...states.map(({ lastToken }) => lastToken + 1),
  );
  for (let raises = 0; raises <= MOST_RAISES;) {
    const held = heldAt(states, clock.now());
    if (held.length < quorum || !isWanted()) return undefined;
    const batchSize = held.every((state) => state.takesTurns) ? reserved : 1;
    const decided = await write(context, { key, id, token, batchSize: reserved }, held, states);
    if (decided === 'written') return counted(context, states, { token, batchSize });
    if (decided === 'failed') return undefined;
    if (decided === 'changed') continue;
    // Somebody shares the lock, and has had this one meanwhile. So may have others who raise theirs now.
    token = decided + 1 + Math.floor(random() * RAISE ** raises);
    raises += 1;
  }
  throw new LockStoreError(`too many others took a fencing token of '${key}' meanwhile`, { key, transient: true });
}

async function write(
  { quorum, clock }: QuorumContext,
  request: FenceRequest,
  held: readonly MemberState[],
  states: readonly MemberState[],
): Promise<'written' | 'failed' | 'changed' | number> {
  const sent = clock.now();
  const change = changeOf(states, held, { quorum, clock });
  const answers = held.map(async (state) => {
    try {
      const reply = await state.member.ask((store) => store.fence(request));
      state.fenced(reply, request.token, sent);
      return reply;
    } catch (error) {
      if (!state.isOpen) state.fail(error as Error);
      throw error;
    } finally {
      change.expect(graceAfter(clock.now() - sent));
    }
  });
  const decided = gather(answers, { quorum, clock }, (replies, last) => decide(replies, quorum, last));
  try {
    return await Promise.race([decided, change.happened]);
  } finally {
    change.stop();
  }
}

/**
 * A master that dies when it has granted the lock may be one of just enough that are asked to take the token: then nobody
 * waits until it has failed, when others hold it by now, or those that are left are no majority.
 */
function changeOf(
  states: readonly MemberState[],
  asked: readonly MemberState[],
  { quorum, clock }: Pick<QuorumContext, 'quorum' | 'clock'>,
): { readonly happened: Promise<'changed'>; expect(after: number): void; stop(): void } {
  let timer: unknown;
  let isOver = false;
  let happen!: (what: 'changed') => void;
  const happened = new Promise<'changed'>((resolve) => (happen = resolve));
  const look = (every: number): void => {
    const held = heldAt(states, clock.now());
    if (held.length < quorum || held.some((state) => !asked.includes(state))) happen('changed');
    else timer = clock.setTimer(every, () => look(every));
  };
  return {
    happened,
    expect(after) {
      if (!isOver) timer ??= clock.setTimer(after, () => look(after));
    },
    stop() {
      isOver = true;
      clock.clearTimer(timer);
    },
  };
}

/** Until when those hold it that have the token; the validity is looked at once more. */
function counted(
  { quorum, clock }: QuorumContext,
  states: readonly MemberState[],
  { token, batchSize }: Pick<Majority, 'token' | 'batchSize'>,
): Majority | undefined {
  const now = clock.now();
  const having = heldAt(states, now).filter((state) => state.token === token);
  const ends = having.map((state) => state.until);
  const until = nthLargest(ends, quorum);
  return until === undefined
    ? undefined
    : { token, batchSize, until, from: Math.min(...having.map((state) => state.from)) };
}

/** Whether a majority has taken the token; the largest that anybody has had, where that has refused too many. */
function decide(
  answers: Answers<FenceReply>,
  quorum: number,
  last: boolean,
): 'written' | 'failed' | number | undefined {
  let [written, open, largest] = [0, 0, 0];
  for (const answer of answers) {
    if (answer === undefined) open += 1;
    else if ('error' in answer) continue;
    else if (answer.value.outcome === 'written') written += 1;
    else if (answer.value.outcome === 'refused') largest = Math.max(largest, answer.value.lastToken);
  }
  if (written >= quorum) return 'written';
  if (!last && written + open >= quorum) return undefined;
  return largest > 0 ? largest : 'failed';
}
